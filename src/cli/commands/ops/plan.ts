import type { Command } from 'commander'
import { addBounds, boundsOf, type BoundOptions } from '../../bounds.ts'
import { exitCodes } from '../../exit-codes.ts'
import { parseJson } from '../../json-option.ts'
import { planLines } from '../../plan-lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'

interface PlanOptions extends BoundOptions {
  args?: string
  tenant?: string
  dryRun: boolean
}

export const addPlan: CommandAdder = (parent, shell) => {
  const command = parent
    .command('plan <operation>')
    .description('what a start would do, with all its checks and a dry run; exits with 6 when it would be refused')
    .option('--args <json>', 'its args')
    .option('--tenant <tenant>', 'the customer that it would belong to')
    .option('--no-dry-run', 'run no sub-batch, not even one that is rolled back')
  addBounds(command).action((operation: string, _: unknown, own: Command) =>
    plan(shell, operation, own.optsWithGlobals<PlanOptions>()),
  )
}

async function plan(shell: Shell, name: string, options: PlanOptions): Promise<void> {
  const { output } = shell
  const args = parseJson('--args', options.args)
  const { tenant, dryRun } = options
  const choices = { ...(tenant === undefined ? {} : { tenant }), ...boundsOf(options), dryRun }
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const found = await sluice.operations.plan(name, args, choices)
    if (found.refused) process.exitCode = exitCodes.refused
    if (output.json) return output.record({ plan: found })
    for (const line of planLines(found, output.columns)) output.data(...line)
    output.note(
      found.refused
        ? `Nothing was written. Start it all the same with: sluice ops start ${name} --force`
        : `Nothing was written. Start it with: sluice ops start ${name}`,
    )
  })
}
