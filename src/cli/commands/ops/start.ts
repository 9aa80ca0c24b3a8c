import type { Command } from 'commander'
import { SluiceError, type StartedOperation } from '../../../index.ts'
import { exitCodes } from '../../exit-codes.ts'
import { follow } from '../../follow.ts'
import { outcomeLines, statusRecord } from '../../operation-lines.ts'
import { progressView } from '../../progress-view.ts'
import { withSluice, type Session } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

interface StartOptions extends GlobalOptions {
  args?: string
  tenant?: string
  actor?: string
  wait?: boolean
}

export const addStart: CommandAdder = (parent, shell) => {
  parent
    .command('start <operation>')
    .description('start an operation of the configuration file; workers do the rest')
    .option('--args <json>', 'its args')
    .option('--tenant <tenant>', 'the customer that it belongs to')
    .option('--actor <actor>', 'who starts it, for the record')
    .option('--wait', 'watch it until it has ended; exit with 1 when it failed')
    .action((operation: string, _: unknown, command: Command) =>
      start(shell, operation, command.optsWithGlobals<StartOptions>()),
    )
}

async function start(shell: Shell, name: string, options: StartOptions): Promise<void> {
  const args = parseArgs(options.args)
  const { tenant, actor } = options
  const owner = { ...(tenant === undefined ? {} : { tenant }), ...(actor === undefined ? {} : { actor }) }
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice }) => {
    const started = await sluice.operations.startByName(name, args, owner)
    if (options.wait === true) await wait(shell, sluice, started)
    else tell(shell, name, started)
  })
}

function tell({ output }: Shell, name: string, { id, duplicate }: StartedOperation): void {
  if (output.json) return output.record({ id, duplicate })
  output.data(id)
  if (duplicate) output.note(`${name} was unfinished already, with equal args; nothing new was started.`)
  else output.note(`${name} started. Watch it with: sluice ops watch ${id}`)
}

async function wait({ output, signal }: Shell, sluice: Session['sluice'], { id }: StartedOperation): Promise<void> {
  const status = await follow(sluice, id, { view: progressView(output), signal })
  if (status.state === 'failed') process.exitCode = exitCodes.failed
  if (output.json) return output.record({ operation: statusRecord(status) })
  for (const line of outcomeLines(status)) output.data(...line)
}

function parseArgs(text: string | undefined): unknown {
  if (text === undefined) return undefined
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new SluiceError('ARGS_INVALID', {
      message: `--args must be JSON: ${error instanceof Error ? error.message : String(error)}. Quote it for the shell: --args '{"key": 1}'.`,
      cause: error,
    })
  }
}
