import { jobs } from './jobs.ts'
import { operations } from './operations.ts'
import { place } from './place.ts'
import type { Described } from './described.ts'

/** What each route answers. */
export const answers: Described = { ...operations, ...jobs, ...place }
