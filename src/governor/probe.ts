/**
 * Probes: each measures one health signal of the database.
 *
 * Decision: the SQL on server statistics is in the file of its probe, not in `store` or `targets`. One file then has
 * the query, its limits, what it cannot see and what that means, and it touches neither our tables nor those of users.
 * `probes/replica-lag.ts` explains why lag is measured by positions, `probes/active-sessions.ts` why activity is the
 * server's sum of active time.
 */
import { formatDuration } from '../std/duration.ts'

/** What a value counts, for people. */
export type Unit = 'ms' | 'bytes' | 'segments' | 'share' | 'times' | 'per core' | 'per second' | 'count'

/** What was measured, and in words who or what is behind it. */
export interface Measure {
  value: number
  said?: string
}

/** What a probe of the server may ask and know. */
export interface Source {
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>
  /** Commits something small and waits until that is on disk. */
  commit(): Promise<void>
  /** The version of the server, such as 180001. */
  readonly serverVersion: number
  /** Cores of the server. */
  readonly cores: number
  /** The clock of this process, in milliseconds; it never goes back. */
  readonly nowMs: number
  /** Transactions of this process. */
  readonly transactions: number
  /** Transactions in a second of other processes that work on operations. */
  readonly peers: number
  /** Whether one has since the last look. */
  readonly working: boolean
}

/** Reads once. Undefined: there is nothing here to measure, such as replicas where there are none. */
export type Reader = (source: Source, table: string) => Promise<Measure | undefined>

/** What a probe cannot see, and the SQL that lets it. */
export interface Blindness {
  reason: string
  remedy: string
}

/** How a signal counts. */
export interface Weight {
  readonly name: string
  /** In words, as in "replica lag". */
  readonly title: string
  /**
   * `budget`: what is used up here is missing elsewhere (lag, disk, slots); when it cannot be read any more, work
   * stops. `gauge`: how busy the server is; when it cannot be read any more, the last value stands.
   */
  readonly kind: 'budget' | 'gauge'
  /** The gravest thing that the signal can do: stop the work, or only slow it down. */
  readonly effect: 'hold' | 'slow'
  /** Work goes on at the floor pace when pausing has not helped for long. */
  readonly yields: boolean
  /** Single values mean little: they are smoothed. */
  readonly smooth: boolean
  readonly unit: Unit
  /** From here on work slows down. */
  readonly soft: number
  /** From here on it stops, or is as slow as can be. Below `soft` where less is worse, as with free space. */
  readonly hard: number
}

/** One health signal: what it means, its limits, and how it is read. */
export interface Probe extends Weight {
  /** `table`: read for each table that is walked. `outside`: not from the database, with a time limit of its own. */
  readonly per: 'server' | 'table' | 'outside'
  /** It counts without limits, too: it says how short transactions are to be. */
  readonly advises?: true
  /** A reader with a memory of its own. */
  open(): Reader
  /** What it cannot see with this role; asked once. */
  blindness?(source: Source): Promise<Blindness | undefined>
}

/** A value as a person reads it. */
export function figure(value: number, unit: Unit): string {
  switch (unit) {
    case 'ms':
      return formatDuration(value)
    case 'bytes':
      return bytes(value)
    case 'share':
      return `${Math.round(value * 100)} %`
    case 'times':
      return `${short(value)} ×`
    case 'per core':
      return `${short(value)} per core`
    case 'per second':
      return `${short(value)}/s`
    case 'segments':
      return `${short(value)} segments`
    case 'count':
      return short(value)
  }
}

const short = (value: number): string => (Number.isInteger(value) ? String(value) : value.toFixed(1))

function bytes(value: number): string {
  const units = ['B', 'kB', 'MB', 'GB', 'TB']
  const step = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10))
  return `${short(Math.round((value / 1_024 ** step) * 10) / 10)} ${units[step]}`
}
