import type { StandardSchemaV1 } from '@standard-schema/spec'
import { validateArgs } from '../args.ts'
import { SluiceError } from '../errors.ts'
import { parseDuration } from '../std/duration.ts'
import { problemOfPaths } from '../std/mask.ts'
import { quoted } from '../std/storable.ts'
import { didYouMean } from '../std/suggest.ts'
import { Bound, layersProblem } from './bound.ts'
import type { AnySpec, JobDefinition, JobSpec, TransactionalSpec } from './definition.ts'
import { plainName } from './enqueue.ts'

type WithArgs<Schema extends StandardSchemaV1, Spec> = Spec & { args: Schema }

/**
 * Defines a job: a unit of background work.
 *
 * @example
 * ```ts
 * import { defineJob, retryOn, exponential } from 'sluice'
 * import { z } from 'zod'
 *
 * export const sendWelcome = defineJob({
 *   name: 'send-welcome',
 *   args: z.object({ userId: z.number().int() }),
 *   onError: [retryOn('ECONNRESET', { attempts: 6, wait: exponential({ base: '2s' }) })],
 *   async perform({ args, job }) {
 *     await mail.send(args.userId, { idempotencyKey: job.idempotencyKey })
 *   },
 * })
 * ```
 */
export function defineJob<const Schema extends StandardSchemaV1>(
  spec: WithArgs<Schema, TransactionalSpec<StandardSchemaV1.InferOutput<Schema>>>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineJob<const Schema extends StandardSchemaV1>(
  spec: WithArgs<Schema, JobSpec<StandardSchemaV1.InferOutput<Schema>>>,
): JobDefinition<StandardSchemaV1.InferInput<Schema>>
export function defineJob(spec: TransactionalSpec<undefined>): JobDefinition<undefined>
export function defineJob(spec: JobSpec<undefined>): JobDefinition<undefined>
export function defineJob(spec: AnySpec): JobDefinition<undefined> {
  checkSpec(spec)
  const { unique, concurrency } = spec
  return {
    name: spec.name,
    queue: spec.queue ?? 'default',
    priority: spec.priority ?? 'normal',
    onError: spec.onError ?? [],
    retry: spec.retry ?? {},
    unique:
      unique === undefined
        ? undefined
        : { forMs: parseDuration(unique.for), until: unique.until ?? 'success', keyed: unique.key !== undefined },
    limit: concurrency?.limit,
    timeoutMs: parseDuration(spec.timeout) ?? 600_000,
    transaction: spec.transaction === true,
    redact: spec.redact ?? [],
    bind(stored) {
      const args = validateArgs(spec.name, spec.args, stored)
      return args instanceof Promise ? args.then((checked) => new Bound(spec, checked)) : new Bound(spec, args)
    },
  }
}

const options = [
  'name',
  'queue',
  'priority',
  'args',
  'onError',
  'retry',
  'unique',
  'concurrency',
  'timeout',
  'transaction',
  'redact',
  'guard',
  'lock',
  'effect',
  'perform',
]

function checkSpec(spec: AnySpec): void {
  const name = typeof spec.name === 'string' ? spec.name : ''
  const refuse = (problem: string): never => {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The job ${quoted(name)} cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
      details: { name, problem },
    })
  }
  if (!plainName.test(name)) {
    refuse('its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"')
  }
  for (const key of Object.keys(spec)) {
    if (!options.includes(key)) refuse(`there is no option "${key}".${didYouMean(key, options)}`)
  }
  if (typeof spec.perform !== 'function') refuse('"perform" must be a function')
  const path = problemOfPaths(spec.redact ?? [])
  if (path !== undefined) refuse(`"redact" ${path}`)
  if (spec.queue !== undefined && !(typeof spec.queue === 'string' && plainName.test(spec.queue))) {
    refuse('"queue" must be a plain name')
  }
  if (spec.priority !== undefined && !['high', 'normal', 'low'].includes(spec.priority)) {
    refuse('"priority" must be high, normal or low')
  }
  if (!Array.isArray(spec.onError ?? [])) refuse('"onError" must be a list of rules made by retryOn and discardOn')
  for (const [option, value] of [
    ['timeout', spec.timeout],
    ['unique.for', spec.unique?.for],
  ] as const) {
    const ms = value === undefined ? 1 : parseDuration(value)
    if (ms === undefined || ms < 1) refuse(`"${option}" must be a time such as "30s" or "5m"`)
  }
  if (spec.unique?.until !== undefined && !['start', 'success'].includes(spec.unique.until)) {
    refuse('"unique.until" must be start or success')
  }
  const layers = layersProblem(spec)
  if (layers !== undefined) refuse(layers)
  if ('effect' in spec && spec.effect !== undefined && (typeof spec.effect !== 'function' || !spec.transaction)) {
    refuse('"effect" must be a function, and needs "transaction: true"')
  }
  const { concurrency } = spec
  if (concurrency === undefined) return
  if (typeof concurrency.key !== 'function') refuse('"concurrency.key" must be a function of the args')
  if (!(Number.isSafeInteger(concurrency.limit) && concurrency.limit > 0 && concurrency.limit <= 10_000)) {
    refuse('"concurrency.limit" must be a whole number from 1 to 10,000')
  }
}
