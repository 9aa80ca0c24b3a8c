import { InvalidArgumentError, type Command } from 'commander'
import { batchStates, didYouMean, type BatchState } from '../../../index.ts'
import { parseBatchId } from '../../batches/id.ts'
import { batchTable } from '../../batches/lines.ts'
import { withSluice } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { wholeNumber } from '../../whole-number.ts'
import { wordList } from '../../word-list.ts'

interface ListOptions extends GlobalOptions {
  state?: BatchState[]
  limit: number
  before?: number
}

export const addList: CommandAdder = (parent, shell) => {
  parent
    .command('list')
    .description('batches of jobs, latest first, a page at a time')
    .option('--state <states>', `only those: some of ${batchStates.join(',')}`, parseStates)
    .option('--limit <n>', 'how many at most', wholeNumber(1, 1_000), 50)
    .option('--before <id>', 'only those before this batch of jobs, for the next page', parseBatchId)
    .action((_: unknown, command: Command) => list(shell, command.optsWithGlobals<ListOptions>()))
}

async function list(shell: Shell, options: ListOptions): Promise<void> {
  const { output } = shell
  const { state: states, limit, before = null } = options
  await withSluice(shell, { options }, async ({ sluice }) => {
    const query = states === undefined ? {} : { states }
    const { batches, next } = await sluice.batches.list({ ...query, limit, before })
    if (output.json) return output.record({ batches, next })
    if (batches.length === 0) return output.note('There is no such batch of jobs.')
    for (const line of batchTable(batches, new Date(), output.columns)) output.data(...line)
    if (next !== null) output.note(`There are more: sluice batches list${flagsOf(options)} --before ${next}`)
  })
}

function flagsOf({ state, limit }: ListOptions): string {
  return `${state === undefined ? '' : ` --state ${state.join(',')}`}${limit === 50 ? '' : ` --limit ${limit}`}`
}

function parseStates(text: string): BatchState[] {
  return wordList(text).map((word) => {
    const state = batchStates.find((known) => known === word)
    if (state !== undefined) return state
    const hint = didYouMean(word, batchStates) || ` Choose from ${batchStates.join(', ')}.`
    throw new InvalidArgumentError(`There is no state "${word}".${hint}`)
  })
}
