import type { StandardSchemaV1 } from '@standard-schema/spec'
import type { Json } from '../std/json.ts'
import { defineJob } from './define.ts'
import type { JobDefinition } from './definition.ts'
import type { BulkAction } from './queue.ts'
import type { JobState } from './status.ts'

/** From which states each verb does something to a job; the command line and the pages offer what is here. */
export const jobVerbs: Readonly<Record<BulkAction, readonly JobState[]>> = {
  retry: ['dead', 'discarded', 'cancelled', 'quarantined'],
  run: ['scheduled'],
  cancel: ['waiting', 'scheduled', 'blocked', 'running'],
  discard: ['waiting', 'scheduled', 'blocked', 'dead', 'quarantined'],
}

/** An action on all jobs of a query. */
export interface BulkArgs {
  action: BulkAction
  query: Record<string, Json>
}

const actions: readonly unknown[] = ['retry', 'run', 'cancel', 'discard']

/** The args of a bulk action, checked without a library. */
const schema: StandardSchemaV1<BulkArgs, BulkArgs> = {
  '~standard': {
    version: 1,
    vendor: 'sluice',
    validate(value) {
      const { action, query } = (value ?? {}) as Partial<BulkArgs>
      return actions.includes(action) && typeof query === 'object'
        ? { value: value as BulkArgs }
        : { issues: [{ message: `action must be one of ${actions.join(', ')}`, path: ['action'] }] }
    },
  },
}

/** Acts on one page of jobs; gives how many it changed, and where the next page begins. */
export type BulkStep = (args: BulkArgs, before: number | null) => Promise<{ done: number; next: number | null }>

/** The job that acts on many jobs, a page at a time. A crash repeats a page, which changes nothing twice. */
export function defineBulk(step: BulkStep): JobDefinition<BulkArgs> {
  return defineJob({
    name: 'sluice.bulk',
    queue: 'sluice',
    args: schema,
    timeout: '1d',
    async perform({ args, signal, log }) {
      let done = 0
      let before: number | null = null
      do {
        signal.throwIfAborted()
        const page: Awaited<ReturnType<BulkStep>> = await step(args, before)
        done += page.done
        before = page.next
        log(`${args.action}: ${done} jobs so far`, { done })
      } while (before !== null)
    },
  })
}
