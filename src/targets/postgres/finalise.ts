import sql, { empty, join, raw, Sql } from 'sql-template-tag'
import type { StoreConnection } from '../../store/connection.ts'
import { blanks, isClaimable, isClaimed, sameKey, wantedRows, type WantedRow } from './claim.ts'
import { keyText } from './cursor.ts'
import { quote, closed } from '../fragment.ts'
import type { Reference, SweptTable } from './swept-table.ts'

/** What becomes of a row in the end: it goes, or some of its columns change. */
export type Finalising = 'delete' | { set: Readonly<Record<string, unknown>> }

/**
 * Finalises rows that are locked, by their claim where they carry one; gives the keys of those that were, and whether
 * they could be claimed still, which they must not be.
 */
export async function finaliseRows(
  connection: StoreConnection,
  swept: SweptTable,
  wanted: readonly WantedRow[],
  finalising: Finalising,
): Promise<{ key: string[]; due: boolean }[]> {
  const { table, key, marks } = swept
  const where = sql`${sameKey(key)} ${marks === undefined ? empty : sql`and ${isClaimed(marks)}`}`
  const rows = wantedRows(key, wanted)
  const query =
    finalising === 'delete'
      ? sql`delete from ${raw(table)} t using ${rows} where ${where} returning ${keyText(key, 't.')} as key, false as due`
      : sql`
        update ${raw(table)} t
        set ${join([...changes(finalising.set), ...(marks === undefined ? [] : blanks(marks))])}
        from ${rows}
        where ${where}
        returning ${keyText(key, 't.')} as key, coalesce(${isClaimable(swept)}, false) as due`
  const result = await connection.query(query.text, query.values)
  return result.rows as { key: string[]; due: boolean }[]
}

/**
 * Ends the claims of rows that were finalised, under the nonce that they had then, unless a row could be claimed again
 * at this moment. Gives the keys of those that ended.
 */
export async function forgetUnlessDue(
  connection: StoreConnection,
  swept: SweptTable,
  { sweep, wanted }: { sweep: string; wanted: readonly WantedRow[] },
): Promise<{ key: string[] }[]> {
  const { table, key } = swept
  const query = sql`
    delete from ${raw(connection.schema)}.sweep_claim sluice_claim
    using ${wantedRows(key, wanted)}
    where sluice_claim.sweep = ${sweep} and sluice_claim.key = sluice_wanted.sluice_key
      and sluice_claim.nonce = sluice_wanted.sluice_nonce::uuid
      and not exists (select from ${raw(table)} t where ${sameKey(key)} and ${isClaimable(swept)})
    returning sluice_claim.key as key`
  return (await connection.query(query.text, query.values)).rows as { key: string[] }[]
}

function changes(set: Readonly<Record<string, unknown>>): Sql[] {
  return Object.entries(set).map(
    ([column, value]) => sql`${raw(quote(column))} = ${value instanceof Sql ? closed(value) : sql`${value}`}`,
  )
}

/** What became of a count: how many references are left. */
export interface Count {
  key: string
  left: number
}

/**
 * Takes references off their counts, in the order of the keys so that two who do this wait for each other and do not
 * block. A count that is too low is left as it is and not given back.
 */
export async function releaseReferences(
  connection: StoreConnection,
  { table, key, count }: Reference,
  owed: ReadonlyMap<string, number>,
): Promise<Count[]> {
  if (owed.size === 0) return []
  const [name, number] = [raw(quote(key.name)), raw(quote(count))]
  const given = sql`(select (sluice_one ->> 0)::${raw(key.type)} as sluice_k0, sluice_one ->> 0 as sluice_key,
      (sluice_one ->> 1)::int as sluice_n
    from jsonb_array_elements(${JSON.stringify([...owed])}::jsonb) sluice_one) sluice_owed`
  const lock = sql`
    select from ${raw(table)} t join ${given} on t.${name} = sluice_owed.sluice_k0
    order by t.${name}
    for update of t`
  await connection.query(lock.text, lock.values)
  const release = sql`
    update ${raw(table)} t
    set ${number} = t.${number} - sluice_owed.sluice_n
    from ${given}
    where t.${name} = sluice_owed.sluice_k0 and t.${number} >= sluice_owed.sluice_n
    returning sluice_owed.sluice_key as key, t.${number}::float8 as left`
  const { rows } = await connection.query(release.text, release.values)
  return rows as unknown as Count[]
}
