import { isNewer } from '../std/newer.ts'
import type { Pending, Release } from './migrations.ts'

/** What the schema says of itself. */
export interface RecordedSchema {
  steps: readonly { version: number; name: string; compatible: boolean }[]
  functions: readonly { name: string; hash: string; release: string }[]
}

/** What is in the database beside what a release brings. */
export interface SchemaStatus {
  /**
   * current: work can be done · missing: never migrated · behind: `pending` makes it current · ahead: a newer release
   * was here · foreign: not made of our files, so nothing can be said of it
   */
  state: 'current' | 'missing' | 'behind' | 'ahead' | 'foreign'
  /** Version in the database; 0 when Sluice was never migrated there. */
  found: number
  /** Version that the release needs. */
  needed: number
  pending: Pending
  /** The newer release whose functions are there, if they are what is ahead. */
  writtenBy?: string
}

/** Compares what is recorded in a schema with what a release brings. Pure. */
export function compareSchema(release: Release, { steps, functions }: RecordedSchema): SchemaStatus {
  const needed = release.migrations.length
  const found = Math.max(0, ...steps.map(({ version }) => version))
  const status = { found, needed, pending: { migrations: [], functions: [] } }
  const ours = new Map(release.migrations.map(({ version, name }) => [version, name]))
  if (steps.some(({ version, name }) => (ours.get(version) ?? name) !== name)) return { ...status, state: 'foreign' }
  if (steps.some(({ version, compatible }) => version > needed && !compatible)) return { ...status, state: 'ahead' }
  // A newer release, and one that we can live with: what its functions are is not for us to judge.
  if (found > needed) return { ...status, state: 'current' }

  const migrations = release.migrations.filter(({ version }) => version > found)
  const there = new Map(functions.map(({ name, hash }) => [name, hash]))
  const changed = release.functions.filter(({ name, hash }) => there.get(name) !== hash)
  const same = changed.length === 0 && there.size === release.functions.length
  const newer = functions.find((file) => isNewer(file.release, release.version))
  if (!same && newer !== undefined) return { ...status, state: 'ahead', writtenBy: newer.release }
  if (same && migrations.length === 0) return { ...status, state: 'current' }
  // A file that went leaves nothing but its row, which goes when the others are recorded again.
  const pending = same || changed.length > 0 ? changed : release.functions
  return { ...status, state: found === 0 ? 'missing' : 'behind', pending: { migrations, functions: pending } }
}
