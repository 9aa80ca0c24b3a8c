import type { Command } from 'commander'
import {
  didYouMean,
  endedJobStates,
  liveJobStates,
  type Duration,
  type JobQuery,
  type JobState,
} from '../../../index.ts'
import { addFilter, filterFlags, filterText, queryOf, statesText, type FilterOptions } from '../../jobs/filter.ts'
import { parseJobId } from '../../jobs/id.ts'
import { jobRecord } from '../../jobs/lines.ts'
import { jobStates } from '../../jobs/states.ts'
import { jobTable } from '../../jobs/table.ts'
import { withSluice, type Session } from '../../session.ts'
import type { CommandAdder, Shell } from '../../shell.ts'
import { wholeNumber } from '../../whole-number.ts'

interface ListOptions extends FilterOptions {
  within?: string
  limit: number
  before?: number
}

const known: readonly JobState[] = [...liveJobStates, ...endedJobStates]
const [, ...others] = endedJobStates
const which = `only those: some of ${liveJobStates.join(',')}; or succeeded; or some of ${others.join(',')}`

export const addList: CommandAdder = (parent, shell) => {
  const command = parent
    .command('list')
    .description('jobs, latest first, a page at a time; without --state those that are not over')
    .option('--state <states>', which, jobStates(known))
  addFilter(command)
    .option('--within <time>', 'how far back to look for those that succeeded, such as 1d (default: 1h)')
    .option('--limit <n>', 'how many at most', wholeNumber(1, 1_000), 50)
    .option('--before <n>', 'continue from here, as the page before says', parseJobId)
    .action((_: unknown, own: Command) => list(shell, own))
}

async function list(shell: Shell, command: Command): Promise<void> {
  const { output } = shell
  const options = command.optsWithGlobals<ListOptions>()
  const { state: states = liveJobStates, tag, arg, within, limit, before = null } = options
  if ((tag ?? arg) !== undefined && states.includes('succeeded')) {
    command.error('error: jobs that succeeded cannot be found by --tag or --arg: neither is kept of them')
  }
  if (within !== undefined && !states.includes('succeeded')) {
    command.error('error: --within goes with --state succeeded')
  }
  // What is no duration is refused where durations are known.
  const span = within === undefined ? {} : { within: within as Duration }
  const query = { ...queryOf(options, states), ...span }
  await withSluice(shell, { options }, async (session) => {
    const { jobs, next } = await session.sluice.jobs.list({ ...query, limit, before })
    if (output.json) return output.record({ jobs: jobs.map(jobRecord), next })
    if (jobs.length === 0) return output.note(emptyText(session, query, before))
    for (const line of jobTable(jobs, new Date(), output.columns)) output.data(...line)
    if (next !== null) output.note(`There are more: ${nextLine(options, query, next)}`)
  })
}

/** The line to type for the next page. */
function nextLine({ state, limit }: ListOptions, query: JobQuery, next: number): string {
  const states = state === undefined ? '' : ` --state ${state.join(',')}`
  const size = limit === 50 ? '' : ` --limit ${limit}`
  return `sluice jobs list${states}${filterFlags(query)}${size} --before ${next}`
}

function emptyText({ jobs }: Session, query: JobQuery, before: number | null): string {
  const { states = [], name } = query
  const names = jobs.map((job) => job.name)
  const hint = name === undefined || names.includes(name) ? '' : didYouMean(name, names)
  const noun = states === liveJobStates ? 'job' : `${statesText(states)} job`
  const place = before === null ? '' : ` before ${before}`
  return `There is no ${noun}${filterText(query)}${spanText(query)}${place}.${hint}`
}

/** What else was left out: without a word about states, what is over; of what succeeded, the older ones. */
function spanText({ states = [], within = '1h' }: JobQuery): string {
  if (states === liveJobStates) return ' that is not over'
  return states.includes('succeeded') ? ` within ${within} (look further back with --within)` : ''
}
