import { storeArgs } from '../args.ts'
import { SluiceError } from '../errors.ts'
import { parseDuration } from '../std/duration.ts'
import { toJson } from '../std/json.ts'
import { quoted } from '../std/storable.ts'
import { didYouMean } from '../std/suggest.ts'
import type { BulkOptions, EnqueueOptions, JobDefinition, JobPriority } from './definition.ts'
import type { NewJob } from './queue.ts'

const maxKey = 1_000
const longestMs = 10 * 366 * 86_400_000

/** Checks everything about a new job and gives its stored form. Nothing is written before all checks passed. */
export async function newJob(definition: JobDefinition, input: unknown, options: BulkOptions): Promise<NewJob> {
  const { name, unique, limit } = definition
  checkOptions(name, options)
  const args = storeArgs(name, input)
  const bound = await definition.bind(args)
  const [uniqueKey, limitKey] = [bound.uniqueKey(), bound.limitKey()]
  return {
    job: name,
    queue: checkQueueName(options.queue ?? definition.queue),
    priority: checkPriority(name, options.priority ?? definition.priority),
    ...timing(name, options),
    ...(options.tags === undefined ? {} : { tags: checkTags(name, options.tags) }),
    ...(options.batch === undefined ? {} : { batch: options.batch }),
    unique:
      unique === undefined
        ? null
        : {
            until: unique.until,
            ...(unique.forMs === undefined ? {} : { forMs: unique.forMs }),
            ...(unique.keyed ? { key: checkKey(name, 'unique', uniqueKey) } : {}),
          },
    ...(limit === undefined ? {} : { key: { name: checkKey(name, 'concurrency', limitKey), limit } }),
    args: JSON.stringify(args),
  }
}

const known: readonly (keyof EnqueueOptions)[] = [
  'tx',
  'notify',
  'in',
  'at',
  'spread',
  'queue',
  'priority',
  'tags',
  'batch',
]

/** A wait or a queue under a wrong name would be left out without a word. */
function checkOptions(name: string, options: BulkOptions): void {
  if (typeof options !== 'object' || options === null) throw refused(name, 'its options must be an object')
  const names: readonly string[] = known
  const wrong = Object.keys(options).find((option) => !names.includes(option))
  if (wrong === undefined) return
  throw refused(name, `there is no option ${quoted(wrong)}.${didYouMean(wrong, names)}`)
}

function timing(name: string, { in: wait, at, spread = 0 }: BulkOptions): { delayMs?: number; runAt?: string } {
  if (wait !== undefined && at !== undefined) throw refused(name, 'give "in" or "at", not both')
  const spreadMs = parseDuration(spread)
  if (spreadMs === undefined || spreadMs > longestMs) {
    throw refused(name, `"spread" must be a time such as "30s" or "5m", not ${quoted(spread)}`)
  }
  const laterMs = Math.round(Math.random() * spreadMs)
  if (at !== undefined) {
    if (!(at instanceof Date) || Number.isNaN(at.getTime())) throw refused(name, '"at" must be a valid Date')
    if (Math.abs(at.getTime() - Date.now()) > longestMs) throw refused(name, '"at" must be within ten years')
    return { runAt: new Date(at.getTime() + laterMs).toISOString() }
  }
  if (wait === undefined) return laterMs === 0 ? {} : { delayMs: laterMs }
  const delayMs = parseDuration(wait)
  if (delayMs === undefined || delayMs > longestMs) {
    throw refused(name, `"in" must be a time such as "30s" or "5m", not ${quoted(wait)}`)
  }
  return { delayMs: delayMs + laterMs }
}

function checkPriority(name: string, priority: JobPriority): JobPriority {
  if (['high', 'normal', 'low'].includes(priority)) return priority
  throw refused(name, `"priority" must be high, normal or low, not ${quoted(priority)}`)
}

function checkTags(name: string, tags: readonly string[]): readonly string[] {
  const fits = Array.isArray(tags) && tags.length <= 20 && tags.every((tag) => isText(tag, 100))
  if (!fits) throw refused(name, '"tags" must be up to 20 texts of up to 100 characters')
  return tags
}

function checkKey(name: string, kind: 'unique' | 'concurrency', key: unknown): string {
  if (isText(key, maxKey)) return key as string
  throw refused(name, `the ${kind} key must be a text of 1 to ${maxKey} characters`)
}

function isText(value: unknown, longest: number): boolean {
  return typeof value === 'string' && value !== '' && value.length <= longest && 'value' in toJson(value)
}

function refused(name: string, problem: string): SluiceError {
  return new SluiceError('ENQUEUE_INVALID', {
    message: `The job "${name}" cannot be enqueued: ${problem.replace(/[.]$/, '')}.`.replace('?.', '?'),
    details: { name, problem },
  })
}

/** What names of jobs and queues look like. */
export const plainName = /^[A-Za-z][A-Za-z0-9._-]{0,99}$/

/** Refuses what cannot be the name of a queue. */
export function checkQueueName(queue: unknown): string {
  if (typeof queue === 'string' && plainName.test(queue)) return queue
  throw new SluiceError('QUEUE_INVALID', {
    message: `${quoted(queue)} cannot be the name of a queue. Use a letter, then up to 99 letters, digits, ".", "_" or "-".`,
    details: { queue },
  })
}
