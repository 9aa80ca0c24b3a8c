import { SluiceError } from '../../errors.ts'
import type { MemberBatch } from '../../jobs/definition.ts'
import type { NewJob } from '../../jobs/queue.ts'
import { quoted } from '../../std/storable.ts'
import { toJson } from '../../std/json.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { Connection } from '../../store/connection.ts'
import type { OpenBatch } from './open-batch.ts'
import { prepare, type PlannedJob } from './planned.ts'

/** Choices for a new batch of jobs. */
export interface BatchOptions {
  /** What it is for; shown in lists. */
  description?: string
  /** Enqueued once, when all members have succeeded. */
  onSuccess?: PlannedJob
  /** Enqueued once, when all members have ended in any way. */
  onComplete?: PlannedJob
  /** Enqueued once, when the first member has died: out of attempts, or isolated. */
  onDeath?: PlannedJob
  /** Makes it a member of another batch of jobs, which is in no other one itself. */
  parent?: Pick<OpenBatch, 'id'> | MemberBatch
  /** Record it in this transaction of yours. */
  tx?: Connection
}

const options = ['description', 'onSuccess', 'onComplete', 'onDeath', 'parent', 'tx']
const maxDescription = 1_000

/** A new batch of jobs, checked, as it is stored. */
export interface Declaration {
  spec: string
  /** The jobs that may be enqueued for it. */
  callbacks: NewJob[]
}

/** Checks everything about a new batch of jobs before anything is written. */
export async function declare(given: BatchOptions): Promise<Declaration> {
  for (const key of Object.keys(given)) {
    if (!options.includes(key)) throw refused(`there is no option "${key}".${didYouMean(key, options)}`)
  }
  const { description, parent } = given
  if (description !== undefined && !isText(description)) {
    throw refused(`"description" must be a text of up to ${maxDescription} characters`)
  }
  if (parent !== undefined && !(Number.isSafeInteger(parent.id) && parent.id > 0)) {
    throw refused(`"parent" must be a batch of jobs, not ${quoted(parent)}`)
  }
  const callbacks: NewJob[] = []
  const parts: string[] = []
  for (const kind of ['onSuccess', 'onComplete', 'onDeath'] as const) {
    const callback = given[kind]
    if (callback === undefined) continue
    if (typeof callback.definition?.bind !== 'function') throw refused(`"${kind}" must be made by planned(job, args)`)
    // One of a kind by itself: a unique key could only make it get lost.
    const job: NewJob = { ...(await prepare(callback)), unique: null }
    callbacks.push(job)
    parts.push(`"${kind}":${callbackText(job)}`)
  }
  const member = parent !== undefined && 'member' in parent ? { member: parent.member } : {}
  const rest = { description, ...(parent === undefined ? {} : { parent: { id: parent.id, ...member } }) }
  const head = JSON.stringify(rest).slice(1, -1)
  return { spec: `{${[...(head === '' ? [] : [head]), ...parts].join(',')}}`, callbacks }
}

function callbackText({ args, ...rest }: NewJob): string {
  return `${JSON.stringify(rest).slice(0, -1)},"args":${args}}`
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.length <= maxDescription && 'value' in toJson(value)
}

function refused(problem: string): SluiceError {
  return new SluiceError('BATCH_INVALID', {
    message: `The batch of jobs cannot be opened: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { problem },
  })
}
