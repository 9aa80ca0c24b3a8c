import type { Handlers } from '../handlers.ts'
import { batches } from './batches.ts'
import { jobs } from './jobs.ts'
import { operations } from './operations.ts'
import { place } from './place.ts'
import { queues } from './queues.ts'
import { samples } from './samples.ts'
import { schedules } from './schedules.ts'

/** A handler for every route of the contract: one that is missing does not compile. */
export const handlers: Handlers = { ...operations, ...jobs, ...queues, ...schedules, ...batches, ...samples, ...place }
