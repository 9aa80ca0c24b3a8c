import type { Command } from 'commander'
import type { OperationStatus, StartedOperation } from '../../../index.ts'
import { addBounds, boundsOf, type BoundOptions } from '../../bounds.ts'
import { followToEnd } from '../../follow-to-end.ts'
import { interruptible } from '../../interrupt.ts'
import { parseJson } from '../../json-option.ts'
import { warnOfNobody } from '../../nobody.ts'
import { withSluice, type Session } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addWho, whoOf } from '../../who.ts'

interface StartOptions extends BoundOptions {
  args?: string
  tenant?: string
  actor?: string
  reason?: string
  wait?: boolean
  force?: boolean
}

export const addStart: CommandAdder = (parent, shell) => {
  const command = parent
    .command('start <operation>')
    .description('start an operation of the configuration file; workers do the rest')
    .option('--args <json>', 'its args')
    .option('--tenant <tenant>', 'the customer that it belongs to')
  addBounds(addWho(command))
    .option('--force', 'start it although the checks refuse it; that is kept in its history')
    .option('--wait', 'watch it until it has ended; exit with 1 when it did not finish')
    .action((operation: string, _: unknown, own: Command) =>
      start(shell, operation, own.optsWithGlobals<StartOptions>()),
    )
}

async function start(shell: Shell, name: string, options: StartOptions): Promise<void> {
  const args = parseJson('--args', options.args)
  const { tenant } = options
  const owner = { ...whoOf(options), ...(tenant && { tenant }) }
  const choices = { ...owner, ...boundsOf(options), force: options.force === true }
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const begin = (): Promise<StartedOperation> => sluice.operations.startByName(name, args, choices)
    const started = await interruptible(shell.signal, begin).catch((error: unknown) => {
      if (shell.signal.aborted) shell.output.note(`It may have been started: see sluice ops list --name ${name}`)
      throw error
    })
    if (!started.duplicate) warnOf(shell, started)
    if (options.wait === true) await followToEnd(shell, sluice, started.id)
    else await tell(shell, sluice, { name, ...started })
  })
}

/** What to think about is said once, in short; the plan tells the rest. */
function warnOf({ output }: Shell, { findings }: StartedOperation): void {
  for (const { severity, what } of findings) if (severity !== 'note') output.warn(`${what}.`)
}

async function tell(
  { output }: Shell,
  sluice: Session['sluice'],
  { name, id, duplicate, findings }: StartedOperation & { name: string },
): Promise<void> {
  if (output.json) return output.record({ id, duplicate, findings })
  output.data(id)
  const status = await sluice.operations.get(id)
  if (duplicate) output.note(`${name} was unfinished already, with equal args; nothing new was started.`)
  else output.note(nextText(status))
  await warnOfNobody(output, sluice, status)
}

function nextText({ id, name, state, disabled, standstill, parked }: OperationStatus): string {
  if (standstill !== null)
    return `${name} is recorded, but all operations are disabled. Let them run with: sluice ops enable --all`
  if (disabled) return `${name} is recorded, but disabled. Let it run with: sluice ops enable ${name}`
  if (state === 'awaiting_approval') return `${name} waits for approval. Approve it with: sluice ops approve ${id}`
  return `${name} ${parked ? 'is recorded' : 'started'}. Watch it with: sluice ops watch ${id}`
}
