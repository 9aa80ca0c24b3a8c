import { SluiceError, type JobState, type JobStatus } from '../../index.ts'
import { whoOf, type Call, type Handlers } from '../handlers.ts'
import { includes } from '../roles.ts'

type Verb = 'retry' | 'run' | 'cancel' | 'discard'

/** From which states a verb does something. */
const from: Record<Verb, readonly JobState[]> = {
  retry: ['dead', 'discarded', 'cancelled', 'quarantined'],
  run: ['scheduled'],
  cancel: ['waiting', 'scheduled', 'blocked', 'running'],
  discard: ['waiting', 'scheduled', 'blocked', 'dead', 'quarantined'],
}

const act =
  (verb: Verb) =>
  async (call: Call<`jobs.${Verb}`>): Promise<{ job: JobStatus }> => {
    const { id, expectedState } = call.input
    return { job: await call.desk.act.jobs[verb](id, { ...whoOf(call), expectedState }) }
  }

export const jobs: Handlers<'jobs' | 'jobs.get' | `jobs.${Verb}` | 'failures' | 'failures.act'> = {
  async jobs({ input: { before, within, ...query }, desk }) {
    const span = within === undefined ? {} : { within: within as `${number}h` }
    return desk.look.jobs.list({ ...query, ...span, before: before ?? null, limit: query.limit ?? 50 })
  },
  async 'jobs.get'({ input: { id }, visitor, desk }) {
    const job = await desk.look.jobs.get(id)
    const verbs = (Object.keys(from) as Verb[]).filter((verb) => from[verb].includes(job.state))
    return { job: { ...job, verbs: includes(visitor.role, 'operator') ? verbs : [] } }
  },
  'jobs.retry': act('retry'),
  'jobs.run': act('run'),
  'jobs.cancel': act('cancel'),
  'jobs.discard': act('discard'),
  async failures({ desk }) {
    const groups = await desk.look.jobs.failures()
    return { groups, looked: groups.reduce((sum, { jobs: n }) => sum + n, 0) }
  },
  async 'failures.act'(call) {
    const { fingerprint, action, expectedJobs } = call.input
    const { desk } = call
    const group = (await desk.act.jobs.failures()).find((one) => one.fingerprint === fingerprint)
    const there = group?.jobs ?? 0
    if (group === undefined || there > expectedJobs) {
      throw new SluiceError('STATE_CHANGED', {
        message: `The group had ${expectedJobs} jobs when you looked and has ${there} now. Nothing was changed: look again, then decide.`,
        details: { expectedJobs, jobs: there },
      })
    }
    const { id } = await desk.act.jobs.bulk(
      action,
      { states: [group.state], name: group.name, fingerprint },
      whoOf(call),
    )
    return { jobId: id }
  },
}
