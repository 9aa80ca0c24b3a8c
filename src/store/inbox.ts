import type { Json } from '../std/json.ts'
import { list, statement } from './statement.ts'

/** A message on its way in. */
export interface NewMessage {
  inbox: string
  /** As hashes of 128 bits in the form of a uuid. */
  keyHash: string
  payloadHash: string
  keepMs: number
  key: string
  /** The job that will process it, as `sluice.enqueue` takes it, without args; JSON text. */
  job: string
  /** JSON text. */
  payload: string
}

/** `id` is a number or its text, as the caller's driver reads a bigint. */
export interface ReceivedRow {
  at: number
  id: number | string
  duplicate: boolean
  /** The key came before, with another payload. */
  differs: boolean
}

interface ReceiveOrder {
  messages: readonly NewMessage[]
  notify: boolean
}

/** Takes messages in, each with its job, in the order given; tells of each whether its key is new. */
export const receive = statement<ReceiveOrder, ReceivedRow>(
  'inbox.receive',
  `select at, id, duplicate, differs from sluice.inbox_receive($1, $2, $3, $4, $5, $6, $7, $8)`,
  receiveValues,
)

/** The same where the statement is the whole transaction: with a lock limit. */
export const receiveAlone = statement<ReceiveOrder & { lockMs: number }, ReceivedRow>(
  'inbox.receiveAlone',
  `select r.at, r.id, r.duplicate, r.differs
   from (select set_config('lock_timeout', $9, true) as lock_limit offset 0) l
   cross join lateral
     sluice.inbox_receive($1, $2, $3, $4, $5, $6, $7, $8 and l.lock_limit is not null) r`,
  (order) => [...receiveValues(order), `${order.lockMs}`],
  { prepare: true },
)

function receiveValues({ messages, notify }: ReceiveOrder): unknown[] {
  return [
    messages.map((message) => message.inbox),
    list(messages.map((message) => message.keyHash)),
    list(messages.map((message) => message.payloadHash)),
    list(messages.map((message) => message.keepMs)),
    messages.map((message) => message.key),
    `[${messages.map((message) => message.job).join(',')}]`,
    `[${messages.map((message) => message.payload).join(',')}]`,
    notify,
  ]
}

/** Which message, as its job knows it. `at` is the text of a moment: a Date would lose its microseconds. */
export interface MessageRef {
  id: number
  inbox: string
  keyHash: string
  at: string
}

/**
 * Marks a message as processed, in the transaction of what it does, and gives it. Gives nothing when another has done
 * so or its key is gone; waits for one who is about to. The payload is null when its day was dropped.
 */
export const take = statement<MessageRef, { key: string | null; payload: Json | null; there: boolean }>(
  'inbox.take',
  `with taken as (
     update sluice.inbox_key
     set state = 1, settled_at = clock_timestamp()
     where inbox_id = (select id from sluice.inbox where name = $2) and key_hash = $3 and message_id = $1 and state <> 1
     returning message_id
   )
   select m.key, m.payload, m.id is not null as there
   from taken t
   left join sluice.inbox_message m on m.id = $1 and m.received_at = $4::timestamptz`,
  ({ id, inbox, keyHash, at }) => [id, inbox, keyHash, at],
)

/** Takes the mark back from a message whose handler wants to see it again, or has given it up. */
export const unmark = statement<MessageRef & { state: 'waiting' | 'failed' }, object>(
  'inbox.unmark',
  `update sluice.inbox_key
   set state = $4, settled_at = case when $4::smallint = 2 then clock_timestamp() end
   where inbox_id = (select id from sluice.inbox where name = $2) and key_hash = $3 and message_id = $1`,
  ({ id, inbox, keyHash, state }) => [id, inbox, keyHash, state === 'waiting' ? 0 : 2],
)
