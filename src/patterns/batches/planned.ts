import type { EnqueueArgs, EnqueueOptions, JobDefinition } from '../../jobs/definition.ts'
import { newJob } from '../../jobs/enqueue.ts'
import type { NewJob } from '../../jobs/queue.ts'

/** Choices for a job that is to be enqueued later. */
export type PlanOptions = Omit<EnqueueOptions, 'tx' | 'notify' | 'batch'>

/** A job with its args, to be enqueued as a member of a batch of jobs or as its callback. */
export interface PlannedJob {
  readonly definition: JobDefinition
  readonly args: unknown
  readonly options: PlanOptions
}

/**
 * Says which job to enqueue, with which args, without doing it.
 *
 * @example
 * ```ts
 * import { planned } from 'sluice'
 *
 * await sluice.batches.run(
 *   images.map((image) => planned(resize, { image })),
 *   { onSuccess: planned(publishAlbum, { album }) },
 * )
 * ```
 */
export function planned<Input>(
  definition: JobDefinition<Input>,
  ...[args, options = {}]: EnqueueArgs<Input, PlanOptions>
): PlannedJob {
  return { definition, args, options }
}

/** Checks a planned job and gives its stored form. */
export async function prepare({ definition, args, options }: PlannedJob): Promise<NewJob> {
  return newJob(definition, args, options)
}
