import { jobVerbs, parseArgsFilter, SluiceError, type BulkAction, type JobQuery, type JobStatus } from '../../index.ts'
import { contract } from '../contract.ts'
import { shownRole, whoOf, type Call, type Handlers } from '../handlers.ts'
import { includes, type Role } from '../roles.ts'

/** What somebody of a role may do to a job in its state. */
function verbsFor({ state }: JobStatus, role: Role): BulkAction[] {
  return (Object.keys(jobVerbs) as BulkAction[]).filter(
    (verb) => jobVerbs[verb].includes(state) && includes(role, contract[`jobs.${verb}`].role),
  )
}

const act =
  (verb: BulkAction) =>
  async (call: Call<`jobs.${BulkAction}`>): Promise<{ job: JobStatus }> => {
    const { id, expectedState } = call.input
    return { job: await call.desk.act.jobs[verb](id, { ...whoOf(call), expectedState }) }
  }

/** What a request says about which jobs, as the API takes it. */
function queryOf({ states, name, queue, tag, arg, fingerprint, within }: Call<'jobs.count'>['input']): JobQuery {
  return {
    ...(states === undefined ? {} : { states }),
    ...(name === undefined ? {} : { name }),
    ...(queue === undefined ? {} : { queue }),
    ...(tag === undefined ? {} : { tag }),
    ...(arg === undefined ? {} : { args: parseArgsFilter(arg) }),
    ...(fingerprint === undefined ? {} : { fingerprint }),
    ...(within === undefined ? {} : { within: within as `${number}h` }),
  }
}

export const jobs: Handlers<
  | 'jobs'
  | 'jobs.get'
  | 'jobs.count'
  | `jobs.${BulkAction}`
  | 'jobs.bulk'
  | 'jobs.bulkMatching'
  | 'failures'
  | 'failures.act'
  | 'failures.bulk'
> = {
  async jobs({ input, visitor, desk }) {
    const { before = null, limit = 50 } = input
    const page = await desk.look.jobs.list({ ...queryOf(input), before, limit })
    return { ...page, jobs: page.jobs.map((job) => ({ ...job, verbs: verbsFor(job, shownRole({ visitor, desk })) })) }
  },
  async 'jobs.count'({ input, desk }) {
    return desk.look.jobs.count(queryOf(input))
  },
  async 'jobs.get'({ input: { id }, visitor, desk }) {
    const job = await desk.look.jobs.get(id)
    return { job: { ...job, verbs: verbsFor(job, shownRole({ visitor, desk })) } }
  },
  'jobs.retry': act('retry'),
  'jobs.run': act('run'),
  'jobs.cancel': act('cancel'),
  'jobs.discard': act('discard'),
  async 'jobs.bulk'(call) {
    const { action, ids, expectedStates } = call.input
    const { id } = await call.desk.act.jobs.bulk(action, { ids, states: expectedStates }, whoOf(call))
    return { jobId: id }
  },
  async 'jobs.bulkMatching'(call) {
    const { id } = await call.desk.act.jobs.bulk(call.input.action, queryOf(call.input), whoOf(call))
    return { jobId: id }
  },
  async failures({ desk }) {
    const groups = await desk.look.jobs.failures()
    return { groups, looked: groups.reduce((sum, { jobs: n }) => sum + n, 0) }
  },
  async 'failures.act'(call) {
    const { fingerprint, action, expectedJobs } = call.input
    const [jobId = 0] = await actOnGroups(call, { fingerprints: [fingerprint], action, expectedJobs })
    return { jobId }
  },
  async 'failures.bulk'(call) {
    return { jobIds: await actOnGroups(call, call.input) }
  },
}

/** Acts on groups of failed jobs, unless there are more jobs in them than the page shows. */
async function actOnGroups(
  call: Call<'failures.act' | 'failures.bulk'>,
  { fingerprints, action, expectedJobs }: { fingerprints: string[]; action: 'retry' | 'discard'; expectedJobs: number },
): Promise<number[]> {
  const { jobs: book } = call.desk.act
  const groups = (await book.failures()).filter(({ fingerprint }) => fingerprints.includes(fingerprint))
  const there = groups.reduce((sum, group) => sum + group.jobs, 0)
  if (groups.length === 0 || there > expectedJobs) {
    throw new SluiceError('STATE_CHANGED', {
      message: `There were ${expectedJobs} jobs when you looked, and there are ${there} now. Nothing was changed: look again, then decide.`,
      details: { expectedJobs, jobs: there },
    })
  }
  const ids: number[] = []
  for (const { state, name, fingerprint } of groups) {
    ids.push((await book.bulk(action, { states: [state], name, fingerprint }, whoOf(call))).id)
  }
  return ids
}
