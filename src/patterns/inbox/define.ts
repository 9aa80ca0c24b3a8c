import type { StandardSchemaV1 } from '@standard-schema/spec'
import { SluiceError } from '../../errors.ts'
import type { TransactionalContext } from '../../jobs/definition.ts'
import type { ErrorRule, JobOutcome, RetryOptions } from '../../jobs/policy.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import type { Json } from '../../std/json.ts'
import { quoted } from '../../std/storable.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { InboxKey } from './key.ts'
import { readPayload } from './payload.ts'

/** What `perform` of an inbox receives: all that goes through `tx` commits with the mark that the message is done. */
export interface InboxContext<Payload> extends Omit<TransactionalContext<unknown>, 'args' | 'effect'> {
  payload: Payload
  /** The key of the message, as one text. */
  key: string
}

export interface InboxSpec<Schema extends StandardSchemaV1> {
  /** Unique among the inboxes of an application; stored with each message, so keep it when you rename code. */
  name: string
  payload: Schema
  /** What the source calls the message: the same in every delivery of it. Without it, `receive` must be given one. */
  key?(payload: StandardSchemaV1.InferOutput<Schema>): InboxKey
  /** The queue in which messages wait. Default: `default`. */
  queue?: string
  /** What becomes of a message whose processing fails; the first rule that matches decides. */
  onError?: readonly ErrorRule[]
  /** For errors that no rule matches. Default: ten attempts, waiting longer each time. `false`: the message failed. */
  retry?: false | RetryOptions
  /** So many messages of a key at once, over all processes, in the order in which they came. */
  concurrency?: { limit: number; key(payload: StandardSchemaV1.InferOutput<Schema>): string }
  /** An attempt may take so long. Default: 10 minutes. */
  timeout?: Duration
  /** A key is remembered for at least so long. Default: 90 days. */
  keep?: Duration
  /** The work, in the transaction in which the message is marked as processed. */
  perform(context: InboxContext<StandardSchemaV1.InferOutput<Schema>>): Promise<JobOutcome | void> | JobOutcome | void
}

/** A defined inbox. `Input` is what {@link Inboxes.receive} takes as payload. */
export interface InboxDefinition<in Input = never> {
  readonly name: string
  readonly queue: string
  readonly onError: readonly ErrorRule[]
  readonly retry: false | RetryOptions
  readonly timeout: Duration
  readonly keepMs: number
  readonly limit: number | undefined
  /** The payload as the handler gets it; refuses what does not fit the schema. */
  read(stored: Json): Promise<unknown>
  keyOf(payload: unknown): unknown
  limitKeyOf(payload: unknown): unknown
  perform(context: InboxContext<unknown>): unknown
  /** Exists for the type checker only: ties the definition to the payload that it takes. */
  readonly takes?: (payload: Input) => void
}

const day = 86_400_000

/**
 * Defines an inbox: messages from a system that sends them again when in doubt, each processed once.
 *
 * @example
 * ```ts
 * import { defineInbox } from 'sluice'
 * import { z } from 'zod'
 *
 * export const appleRenewals = defineInbox({
 *   name: 'apple-renewals',
 *   payload: z.object({ notificationUuid: z.string(), originalTransactionId: z.string() }),
 *   key: (payload) => [payload.originalTransactionId, payload.notificationUuid],
 *   async perform({ payload, tx }) {
 *     await tx.query('insert into creator_subscriptions (transaction_id) values ($1)', [payload.originalTransactionId])
 *   },
 * })
 * ```
 */
export function defineInbox<const Schema extends StandardSchemaV1>(
  spec: InboxSpec<Schema>,
): InboxDefinition<StandardSchemaV1.InferInput<Schema>> {
  checkSpec(spec)
  const { name, payload: schema, concurrency } = spec
  return {
    name,
    queue: spec.queue ?? 'default',
    onError: spec.onError ?? [],
    retry: spec.retry ?? {},
    timeout: spec.timeout ?? '10m',
    keepMs: parseDuration(spec.keep) ?? 90 * day,
    limit: concurrency?.limit,
    read: (stored) => readPayload(name, schema, stored),
    keyOf: (payload) => spec.key?.(payload),
    limitKeyOf: (payload) => concurrency?.key(payload),
    perform: (context) => spec.perform(context),
  }
}

const options = ['name', 'payload', 'key', 'queue', 'onError', 'retry', 'concurrency', 'timeout', 'keep', 'perform']

// "inbox." stands before it in the name of its job.
const plainName = /^[A-Za-z][A-Za-z0-9._-]{0,93}$/

function checkSpec(spec: InboxSpec<StandardSchemaV1>): void {
  const name = typeof spec.name === 'string' ? spec.name : ''
  const refuse = (problem: string): never => {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The inbox ${quoted(name)} cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
      details: { name, problem },
    })
  }
  if (!plainName.test(name)) {
    refuse('its name must start with a letter and have up to 94 letters, digits, ".", "_" or "-"')
  }
  for (const key of Object.keys(spec)) {
    if (!options.includes(key)) refuse(`there is no option "${key}".${didYouMean(key, options)}`)
  }
  if (typeof spec.perform !== 'function') refuse('"perform" must be a function')
  if (spec.key !== undefined && typeof spec.key !== 'function') refuse('"key" must be a function of the payload')
  if (typeof (spec.payload as Partial<StandardSchemaV1> | undefined)?.['~standard']?.validate !== 'function') {
    refuse('"payload" must be a schema (of zod, valibot, arktype or any other that follows Standard Schema)')
  }
  checkAmounts(spec, refuse)
}

function checkAmounts({ keep, concurrency }: InboxSpec<StandardSchemaV1>, refuse: (problem: string) => never): void {
  const keepMs = keep === undefined ? day : parseDuration(keep)
  if (keepMs === undefined || keepMs < 60_000 || keepMs > 3_660 * day) {
    refuse('"keep" must be a time such as "90 days", from a minute to ten years')
  }
  if (concurrency === undefined) return
  if (typeof concurrency.key !== 'function') refuse('"concurrency.key" must be a function of the payload')
  if (!(Number.isSafeInteger(concurrency.limit) && concurrency.limit > 0 && concurrency.limit <= 10_000)) {
    refuse('"concurrency.limit" must be a whole number from 1 to 10,000')
  }
}
