import { AssertionError } from 'node:assert'
import { isDeepStrictEqual } from 'node:util'
import type { JobStatus } from '../index.ts'

/** So many jobs are listed in a message. */
const listed = 20

/** Whether a job was enqueued with exactly these args; undefined: any. */
export function hasArgs(job: JobStatus, args: unknown): boolean {
  return args === undefined || isDeepStrictEqual(job.args, JSON.parse(JSON.stringify(args)))
}

interface Claim {
  wanted?: string
  unwanted?: string
  args: unknown
  /** What is enqueued: all that there is, or what should not be. */
  jobs: readonly JobStatus[]
}

/** The failure of an assertion about what is enqueued. */
export function failure({ wanted, unwanted, args, jobs }: Claim): AssertionError {
  const name = `"${wanted ?? unwanted}"${args === undefined ? '' : ` with the args ${JSON.stringify(args)}`}`
  const message =
    wanted === undefined
      ? [`No job ${name} should be enqueued, but there is:`, ...linesOf(jobs)]
      : [
          `A job ${name} should be enqueued, but is not.`,
          ...(jobs.length === 0 ? ['The queue is empty.'] : ['Enqueued are:', ...linesOf(jobs)]),
        ]
  return new AssertionError({ message: message.join('\n') })
}

function linesOf(jobs: readonly JobStatus[]): string[] {
  const lines = jobs.slice(0, listed).map(({ id, name, args, state, runAt }) => {
    const when = state === 'scheduled' && runAt !== null ? `scheduled for ${runAt.toISOString()}` : state
    return `  ${id} ${name} ${JSON.stringify(args)} (${when})`
  })
  return jobs.length > listed ? [...lines, `  and ${jobs.length - listed} more`] : lines
}
