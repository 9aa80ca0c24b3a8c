import type { TestDatabase } from '../../support/database.ts'
import type { ObjectStore } from './store.ts'

/** What was left behind. All of it must be nothing. */
export interface Wrongs {
  expiredLeft: number
  /** Live pastes whose content, or whose object in the recorded version, is not there. */
  livePastesWithoutObject: number
  countsBelowZero: number
  /** Contents whose count is not the number of their pastes. */
  wrongCounts: number
  /** Objects that no content stands for. */
  orphans: number
  claimsLeft: number
  /** Rows whose effect came under more than one idempotency key, or never. */
  changedKeys: number
}

/** Compares what is in the database with what is in the store. */
export async function judge(db: TestDatabase, store: ObjectStore, expired: readonly string[]): Promise<Wrongs> {
  const contents = await db.query<{ hash: string; version: string; ref_count: number; pastes: number }>(
    `select c.hash, c.version, c.ref_count, count(p.short_code)::int as pastes
     from contents c left join pastes p on p.content_hash = c.hash group by c.hash`,
  )
  const live = await db.query<{ hash: string; version: string | null }>(
    `select p.content_hash as hash, c.version from pastes p left join contents c on c.hash = p.content_hash`,
  )
  const known = new Set(contents.map(({ hash }) => hash))
  return {
    expiredLeft: await db.value('select count(*)::int from pastes where expires_at < now()'),
    livePastesWithoutObject: live.filter(
      ({ hash, version }) => version === null || store.objects.get(hash) !== Number(version),
    ).length,
    countsBelowZero: await db.value('select count(*)::int from below_zero'),
    wrongCounts: contents.filter(({ ref_count, pastes }) => ref_count !== pastes).length,
    orphans: [...store.objects.keys()].filter((name) => !known.has(name)).length,
    claimsLeft: await db.value('select count(*)::int from sluice.sweep_claim'),
    changedKeys: expired.filter((paste) => store.purges.get(paste)?.size !== 1).length,
  }
}

/** The names of all that is not nothing. */
export function wrongIn(wrongs: Wrongs): string[] {
  return names.filter((name) => wrongs[name] !== 0).map((name) => `${name} ${wrongs[name]}`)
}

const names = [
  'expiredLeft',
  'livePastesWithoutObject',
  'countsBelowZero',
  'wrongCounts',
  'orphans',
  'claimsLeft',
  'changedKeys',
] as const satisfies (keyof Wrongs)[]
