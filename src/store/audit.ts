import type { Json } from '../std/json.ts'
import { storable } from '../std/storable.ts'
import type { StoreConnection } from './connection.ts'
import type { Database } from './database.ts'
import type { Transaction } from './pool.ts'
import { reached } from './sqlstate.ts'
import { statement } from './statement.ts'

/** Where an act came from. */
export type AuditSource = 'api' | 'cli' | 'dashboard' | 'schedule'

/** Who does it, from where and why. */
export interface Who {
  /** Who does it, for the record. */
  actor?: string
  /** Why, for those who look later. */
  reason?: string
  /** Where it came from. Default: `api`. */
  source?: AuditSource
}

/** An act of a person. */
export interface AuditRow {
  id: number
  at: Date
  actor: string | null
  source: AuditSource
  /** Such as `operation.pause`. */
  action: string
  /** What it was done to: an id or a name. */
  target: string
  before: Json | null
  after: Json | null
  reason: string | null
}

/** Which acts; null: any. */
export interface AuditFilter {
  actor: string | null
  source: string | null
  /** An action, or what it begins with up to its full stop: `operation`. */
  action: string | null
  target: string | null
  since: Date | null
  until: Date | null
  /** Only those before this id. */
  before: number | null
  limit: number
}

/** Acts, latest first. */
export const listAudit = statement<AuditFilter, AuditRow>(
  'audit.list',
  `select id, at, actor, source, action, target, before, after, reason
   from sluice.audit
   where ($1::text is null or actor = $1)
     and ($2::text is null or source = $2)
     and ($3::text is null or action = $3 or split_part(action, '.', 1) = $3)
     and ($4::text is null or target = $4)
     and ($5::timestamptz is null or at >= $5)
     and ($6::timestamptz is null or at < $6)
     and ($7::bigint is null or id < $7)
   order by id desc
   limit $8`,
  (f) => [f.actor, f.source, f.action, f.target, f.since, f.until, f.before, f.limit],
)

/** Forgets acts that are older than the retention, some at a time; never one of the last 30 days. */
export const forgetActs = statement<{ keepDays: number; most: number }, { forgotten: number }>(
  'audit.forget',
  `select sluice.forget_acts($1, $2) as forgotten`,
  (p) => [p.keepDays, p.most],
)

/** What was done to what. */
export interface Act {
  action: string
  target: string
  before?: Json | undefined
  after?: Json | undefined
}

const record = statement<Who & Act, { id: number }>(
  'audit.record',
  `select sluice.record_act($1, $2, $3, $4, $5::text::jsonb, $6::text::jsonb, $7) as id`,
  (a) => {
    const { actor, source, reason } = storableWho(a)
    return [actor, source, a.action, textOf(a.target), jsonOf(a.before), jsonOf(a.after), reason]
  },
)

const longest = 2_000

/** Names and reasons come from outside, and must not keep anybody from acting. */
const textOf = (text: string | undefined): string | null => (text === undefined ? null : storable(text, longest))

/** Who, as the database can store it. */
export function storableWho({ actor, source = 'api', reason }: Who): Record<keyof Who, string | null> {
  return { actor: textOf(actor), source, reason: textOf(reason) }
}

function jsonOf(value: Json | undefined): string | null {
  if (value === undefined) return null
  return JSON.stringify(value, (_, one: unknown) => (typeof one === 'string' ? storable(one, longest) : one))
}

/** Writes an act down on the connection of whoever does it: it commits with the change or not at all. */
export async function recordAct(connection: StoreConnection, who: Who, act: Act): Promise<void> {
  await record(connection, { ...who, ...act })
}

/**
 * Does what a person asks for and writes it down, in one transaction. `work` gives its result, and the act; without an
 * act nothing was changed, and nothing is written down.
 */
export async function audited<T>(
  database: Database,
  who: Who,
  work: (transaction: Transaction) => Promise<{ result: T; act: Act | undefined }>,
): Promise<T> {
  return reached(() =>
    database.control.transaction(async (transaction) => {
      const { result, act } = await work(transaction)
      if (act !== undefined) await recordAct(transaction, who, act)
      return result
    }),
  )
}
