import { InvalidArgumentError, Option, type Command } from 'commander'
import type { Limits, OperationStatus } from '../../../index.ts'
import { limitLines, limitsRecord } from '../../limit-lines.ts'
import { statusRecord } from '../../operation-lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { wholeNumber } from '../../whole-number.ts'
import { addActor, whoOf, type WhoOptions } from '../../who.ts'

interface SetOptions extends WhoOptions, Omit<Limits, 'window'> {
  window?: string
}

export const addSet: CommandAdder = (parent, shell) => {
  const command = parent
    .command('set <id>')
    .description('change limits of an operation while it runs')
    .option('--lanes <n>', 'batches at once, or auto: as many as pay and the load allows', parseLanes)
    .option('--pace <share>', 'share of the time that each lane works, above 0 and up to 1', parsePace)
    .option('--sub-batch-size <n>', 'rows per sub-batch, at most', wholeNumber(1, 10_000_000))
    .addOption(
      new Option('--priority <priority>', 'share of the time of the workers').choices(['low', 'normal', 'high']),
    )
    .option('--window <hours>', 'hours in which it may run, such as "00:00-06:00 Europe/Berlin"; none: at any time')
  addActor(command).action((id: string, _: unknown, own: Command) => set(shell, id, own))
}

async function set(shell: Shell, id: string, command: Command): Promise<void> {
  const { output } = shell
  const options = command.optsWithGlobals<SetOptions>()
  const limits = limitsOf(options)
  if (Object.keys(limits).length === 0) {
    command.error('error: nothing to set; give --lanes, --pace, --sub-batch-size, --priority or --window')
  }
  await withSluice(shell, { options }, async ({ sluice }) => {
    const before: OperationStatus = await sluice.operations.get(id)
    const after = await sluice.operations.set(id, limits, whoOf(options))
    if (output.json) return output.record({ before: limitsRecord(before), operation: statusRecord(after) })
    for (const line of limitLines(before, after, limits)) output.data(...line)
  })
}

function limitsOf({ lanes, pace, subBatchSize, priority, window }: SetOptions): Limits {
  return {
    ...(lanes === undefined ? {} : { lanes }),
    ...(pace === undefined ? {} : { pace }),
    ...(subBatchSize === undefined ? {} : { subBatchSize }),
    ...(priority === undefined ? {} : { priority }),
    ...(window === undefined ? {} : { window: window === 'none' ? null : window }),
  }
}

const parseLanes = (text: string): number | 'auto' => (text === 'auto' ? text : wholeNumber(1, 10_000_000)(text))

function parsePace(text: string): number {
  const pace = text.trim() === '' ? Number.NaN : Number(text)
  if (pace > 0 && pace <= 1) return pace
  throw new InvalidArgumentError('It must be a number above 0 and up to 1.')
}
