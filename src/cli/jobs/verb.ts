import type { Command } from 'commander'
import { jobVerbs, type BulkAction, type JobState, type JobStatus, type Who } from '../../index.ts'
import { withSluice, type Session } from '../session.ts'
import type { CommandAdder, Shell } from '../shell.ts'
import { actOnAll, type BulkOptions } from './bulk.ts'
import { addFilter } from './filter.ts'
import { parseJobId } from './id.ts'
import { jobRecord } from './lines.ts'
import { sentenceLine, type Surroundings } from './sentence.ts'
import { addActor, whoOf } from '../who.ts'
import { jobStates } from './states.ts'

/** A verb as a command: what it does to one job, and to which jobs it is done where nothing is said of states. */
export interface VerbSpec {
  verb: BulkAction
  description: string
  /** Those of `--all` without a word about states. */
  usual: readonly JobState[]
  /** It takes a reason, to be kept with the job. */
  reasoned?: true
}

interface VerbOptions extends BulkOptions {
  all?: boolean
  reason?: string
  actor?: string
}

/** A command that does one verb to one job, or starts the job that does it to all of a filter. */
export function verbCommand(spec: VerbSpec): CommandAdder {
  const { verb, description, usual, reasoned } = spec
  const possible = jobVerbs[verb]
  return (parent, shell) => {
    const command = parent
      .command(verb)
      .argument('[id]', '', parseJobId)
      .description(description)
      .option('--all', 'instead of one job: all that the options below leave, in the background')
    if (possible.length > 1) {
      const which = `only those: some of ${possible.join(', ')} (default: ${usual.join(',')})`
      command.option('--state <states>', which, jobStates(possible))
    }
    addFilter(command).option('--yes', 'with --all: do not ask; needed where nobody can be asked')
    if (reasoned) command.option('--reason <text>', 'why, for those who look later; for one job')
    addActor(command).action((id: number | undefined, _: unknown, own: Command) => act(shell, { spec, id }, own))
  }
}

async function act(shell: Shell, { spec, id }: { spec: VerbSpec; id: number | undefined }, command: Command) {
  const options = command.optsWithGlobals<VerbOptions>()
  const problem = problemOf(id, options)
  if (problem !== undefined) command.error(`error: ${problem}`)
  await withSluice(shell, { options }, async ({ sluice }) => {
    if (id === undefined) await actOnAll(shell, sluice, { ...spec, options })
    else await actOnOne(shell, sluice, { ...spec, id, who: whoOf(options) })
  })
}

/** What contradicts itself here would do more, or something else, than was meant. */
function problemOf(id: number | undefined, options: VerbOptions): string | undefined {
  const { all = false, reason } = options
  const narrowed = (['state', 'name', 'queue', 'tag', 'arg', 'yes'] as const).find(
    (option) => options[option] !== undefined,
  )
  if (id === undefined && !all) return 'give the id of a job, or --all with what narrows it down'
  if (id !== undefined && all) return 'give the id of a job or --all, not both'
  if (id !== undefined && narrowed !== undefined) return `--${narrowed} goes with --all, not with the id of a job`
  if (all && reason !== undefined) return '--reason goes with the id of a job, not with --all'
  return undefined
}

async function actOnOne(
  { output }: Shell,
  sluice: Session['sluice'],
  { verb, id, who }: { verb: BulkAction; id: number; who: Who },
): Promise<void> {
  const status: JobStatus = await sluice.jobs[verb](id, who)
  if (output.json) return output.record({ job: jobRecord(status) })
  const around: Surroundings = { now: new Date() }
  if (verb === 'cancel' && status.state === 'running') {
    return output.data(['yellow', '!'], ` ${status.name} ${id} still runs; its handler is told to stop`)
  }
  output.data(...sentenceLine(status, around))
}
