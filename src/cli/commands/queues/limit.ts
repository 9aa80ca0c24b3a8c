import type { Command } from 'commander'
import type { Duration } from '../../../index.ts'
import { tellQueue } from '../../queues/change.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { addWho, whoOf, type WhoOptions } from '../../who.ts'
import { wholeNumber } from '../../whole-number.ts'

interface LimitOptions extends WhoOptions {
  per?: string
  none?: boolean
}

export const addLimit: CommandAdder = (parent, shell) => {
  const command = parent
    .command('limit')
    .argument('<queue>')
    .argument('[n]', '', wholeNumber(1, 1_000_000))
    .description('let at most n jobs of a queue start per time, over all workers')
    .option('--per <time>', 'the time, such as 1m')
    .option('--none', 'as many as there are')
  addWho(command).action((name: string, n: number | undefined, _: unknown, own: Command) =>
    limit(shell, { name, n }, own),
  )
}

async function limit(
  shell: Shell,
  { name, n }: { name: string; n: number | undefined },
  command: Command,
): Promise<void> {
  const options = command.optsWithGlobals<LimitOptions>()
  const { per, none = false } = options
  if (none && (n !== undefined || per !== undefined)) command.error('error: give a number and --per, or --none alone')
  if (!none && (n === undefined || per === undefined)) {
    command.error('error: give a number and --per, such as 100 --per 1m, or --none')
  }
  // What is no duration is refused where durations are known.
  const rate = n === undefined || per === undefined ? null : { limit: n, per: per as Duration }
  await withSluice(shell, { options }, async ({ sluice }) => {
    await sluice.queues.limit(name, rate, whoOf(options))
    await tellQueue(shell, sluice, name)
  })
}
