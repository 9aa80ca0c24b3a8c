import { defineWindow } from '../../runtime/window.ts'
import { parseDuration, type Duration } from '../../std/duration.ts'
import { storable } from '../../std/storable.ts'
import { closed } from '../../targets/fragment.ts'
import { checkSweep } from './check.ts'
import type { SweepContext, SweepDefinition, SweepSpec } from './definition.ts'

/** The defaults, each for a reason. */
const sweepDefaults = {
  /** A claim is one short transaction; a crash lets so many effects be repeated at most. */
  batch: 100,
  concurrency: 8,
  timeout: '10s',
  attempts: 10,
  breaker: { failures: 5, for: '30s' },
  interval: '1m',
} as const

/**
 * Defines a sweep: rows that are due are claimed, have an effect outside of the database, and are finalised under the
 * same claim.
 *
 * @example
 * ```ts
 * import { defineSweep, sql } from 'sluice'
 *
 * interface Upload {
 *   id: number
 *   object_key: string
 *   expires_at: Date
 * }
 * declare const store: { delete(key: string, options: { signal: AbortSignal }): Promise<void> }
 *
 * export const expireUploads = defineSweep<Upload>({
 *   name: 'expire-uploads',
 *   table: 'uploads',
 *   key: 'id',
 *   due: sql`expires_at < now()`,
 *   order: 'expires_at',
 *   claim: 'table',
 *   effect: ({ row, signal }) => store.delete(row.object_key, { signal }),
 * })
 * ```
 */
export function defineSweep<Row extends object = Record<string, unknown>>(spec: SweepSpec<Row>): SweepDefinition {
  checkSweep(spec as unknown as SweepSpec<Record<string, unknown>>)
  const { claim, releases, finalise = 'delete' } = spec
  const columns = claim === 'table' ? undefined : claim.columns
  return {
    name: spec.name,
    names: {
      name: spec.name,
      table: spec.table,
      key: listed(spec.key),
      due: closed(spec.due),
      order: spec.order === undefined ? [] : listed(spec.order),
      marks:
        claim === 'table' || columns === undefined
          ? undefined
          : { ...columns, claimedAt: columns.claimedAt, worker: columns.worker, from: claim.from, to: claim.to },
      reference: releases,
      sets: finalise === 'delete' ? [] : Object.keys(finalise.set),
    },
    finalising: finalise,
    batch: spec.batch ?? sweepDefaults.batch,
    concurrency: spec.concurrency ?? sweepDefaults.concurrency,
    timeoutMs: ms(spec.timeout, sweepDefaults.timeout),
    attempts: spec.attempts ?? sweepDefaults.attempts,
    breaker: {
      failures: spec.breaker?.failures ?? sweepDefaults.breaker.failures,
      forMs: ms(spec.breaker?.for, sweepDefaults.breaker.for),
    },
    intervalMs: ms(spec.interval, sweepDefaults.interval),
    effect: spec.effect === undefined ? undefined : (context) => spec.effect?.(context as unknown as SweepContext<Row>),
    version(row) {
      const version = spec.version?.(row as Row) ?? undefined
      // What is stored is text, and compared with what comes later.
      return version === undefined ? undefined : storable(version, 2_000)
    },
    window: spec.window === undefined ? undefined : defineWindow(spec.window),
  }
}

const listed = (columns: string | readonly string[]): readonly string[] =>
  typeof columns === 'string' ? [columns] : columns

const ms = (given: Duration | undefined, otherwise: Duration): number =>
  parseDuration(given) ?? parseDuration(otherwise) ?? 0
