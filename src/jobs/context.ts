import { scrub, secretsAt } from '../std/mask.ts'
import type { Connection } from '../store/connection.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Attempt } from './attempt.ts'
import type { HandlerContext, JobContext, JobInfo, MemberBatch } from './definition.ts'

/** What contexts are made with. */
export interface ContextTools {
  telemetry: Telemetry
  /** Enqueues for a handler, in its transaction where it has one. */
  enqueue: (tx: Connection | undefined) => JobContext<unknown>['enqueue']
  /** For what a job asks the database before its transaction. */
  db?: Connection
  /** The batch of jobs that a handler's job is a member of. Left out where there are none. */
  batch?: (member: { id: number; member: number; tx: Connection | undefined }) => MemberBatch
}

/** What a handler is given. Everything but args is made when it is asked for: most handlers ask for little. */
export class Context implements HandlerContext {
  args: unknown
  readonly tx: Connection | undefined
  readonly #attempt: Attempt
  readonly #tools: ContextTools
  readonly effect: unknown

  constructor(attempt: Attempt, tools: ContextTools, { tx, effect }: { tx?: Connection; effect?: unknown } = {}) {
    this.#attempt = attempt
    this.#tools = tools
    this.tx = tx
    this.effect = effect
  }

  get db(): Connection | undefined {
    return this.tx ?? this.#tools.db
  }

  get job(): JobInfo {
    return this.#attempt.info
  }

  get signal(): AbortSignal {
    return this.#attempt.stop.signal
  }

  get enqueue(): JobContext<unknown>['enqueue'] {
    return this.#tools.enqueue(this.tx)
  }

  get batch(): MemberBatch | undefined {
    const { id: member, batchId: id } = this.#attempt.job
    return id === null ? undefined : this.#tools.batch?.({ id, member, tx: this.tx })
  }

  get log(): JobContext<unknown>['log'] {
    const { job, definition } = this.#attempt
    return (message, fields = {}) => {
      const said = scrub({ message, fields }, secretsAt(job.args, definition.redact))
      this.#tools.telemetry.emit('job.logged', { jobId: job.id, name: definition.name, ...said })
    }
  }
}
