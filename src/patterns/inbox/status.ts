import type { Json } from '../../std/json.ts'
import { mostCounted, type InboxView, type MessageView } from '../../store/inbox-views.ts'

/** An inbox with what is in it. Counts end at a million: `more` tells that there is more. */
export interface InboxStatus {
  name: string
  /** Received and not processed yet. */
  waiting: number
  /** Its job ended without success; `sluice jobs retry` takes it up again. */
  failed: number
  processed: number
  /** Payloads that came under a key which had come with another one. */
  differing: number
  /** How long the oldest one waits. */
  oldestMs: number | null
  more: boolean
}

/** A message, as long as its key is remembered. */
export interface InboxMessage {
  id: number
  state: 'waiting' | 'processed' | 'failed'
  /** Null, as the payload and the job, when what was received that day is dropped already. */
  key: string | null
  payload: Json | null
  jobId: number | null
  receivedAt: Date
  settledAt: Date | null
  /** From then on the key may be forgotten. */
  expiresAt: Date
  /** Other payloads that came under its key. */
  differing: number
}

export function inboxStatusOf({ oldest_ms, ...counts }: InboxView): InboxStatus {
  const { waiting, failed, processed, differing } = counts
  const more = waiting + failed + processed >= mostCounted || differing >= mostCounted
  return { ...counts, oldestMs: oldest_ms === null ? null : Math.round(oldest_ms), more }
}

export function messageOf(view: MessageView): InboxMessage {
  const { id, state, key, payload, differing } = view
  return {
    id,
    state,
    key,
    payload,
    jobId: view.job_id,
    receivedAt: view.received_at,
    settledAt: view.settled_at,
    expiresAt: view.expires_at,
    differing,
  }
}
