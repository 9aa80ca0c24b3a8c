import type { EnqueueArgs, EnqueuedJob, EnqueueOptions, JobDefinition, MemberBatch } from '../../jobs/definition.ts'
import type { Jobs } from '../../jobs/jobs.ts'
import type { Connection } from '../../store/connection.ts'
import { explained } from './refusal.ts'

/** What an open batch of jobs is made of. */
interface Parts {
  id: number
  /** The transaction in which it was opened. */
  tx: Connection | undefined
  jobs: Jobs
  seal: (id: number, tx: Connection | undefined) => Promise<void>
}

/** A batch of jobs that takes members. Without a `tx` of their own, its verbs use the transaction it was opened in. */
export class OpenBatch {
  readonly id: number
  readonly #parts: Parts
  readonly #adders: Adders

  constructor(parts: Parts) {
    this.id = parts.id
    this.#parts = parts
    this.#adders = addersOf(parts.jobs, { id: parts.id }, parts.tx)
  }

  /** Adds a member. A job that is a duplicate, because its unique key is taken, does not become one. */
  async add<Input>(
    definition: JobDefinition<Input>,
    ...rest: EnqueueArgs<Input, EnqueueOptions>
  ): Promise<EnqueuedJob> {
    return this.#adders.add(definition, ...rest)
  }

  /** Adds many members of one kind, a thousand per statement. */
  async addMany<Input>(
    definition: JobDefinition<Input>,
    args: readonly Input[],
    options?: EnqueueOptions,
  ): Promise<EnqueuedJob[]> {
    return this.#adders.addMany(definition, args, options)
  }

  /** Says that nothing more comes from outside. From now on it can be over. Doing it again changes nothing. */
  async seal({ tx = this.#parts.tx }: { tx?: Connection | undefined } = {}): Promise<void> {
    await this.#parts.seal(this.id, tx)
  }
}

/** A batch of jobs as a member sees it. */
export function memberBatch(
  jobs: Jobs,
  { id, member, tx }: { id: number; member: number; tx: Connection | undefined },
): MemberBatch {
  return { id, member, ...addersOf(jobs, { id, member }, tx) }
}

type Adders = Pick<MemberBatch, 'add' | 'addMany'>

function addersOf(jobs: Jobs, batch: { id: number; member?: number }, tx: Connection | undefined): Adders {
  const joined = (options: EnqueueOptions): EnqueueOptions => ({
    ...(tx === undefined ? {} : { tx }),
    ...options,
    batch,
  })
  return {
    add: async <Input>(
      definition: JobDefinition<Input>,
      ...[args, options = {}]: EnqueueArgs<Input, EnqueueOptions>
    ) => {
      const rest = [args, joined(options)] as EnqueueArgs<Input, EnqueueOptions>
      return explained(batch.id, () => jobs.enqueue(definition, ...rest))
    },
    addMany: async (definition, args, options = {}) =>
      explained(batch.id, () => jobs.enqueueMany(definition, args, joined(options))),
  }
}
