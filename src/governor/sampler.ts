import { errorRecord } from '../std/error-record.ts'
import { sleep } from '../std/sleep.ts'
import type { StoreConnection } from '../store/connection.ts'
import { smallCommit } from '../store/governing.ts'
import { isRefused } from '../store/sqlstate.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import type { Blindness, Probe, Reader, Source } from './probe.ts'
import { readServerVersion } from './probes/server-version.ts'
import { missed, read, unread, type Reading } from './reading.ts'

/** What the sampler knows of the work in its process. */
interface Work {
  /** The tables that are being walked. */
  tables(): readonly string[]
  /** How many sub-batches have committed, and how many transactions there were for whatever purpose. */
  committed(): number
  transactions(): number
  /** Transactions in a second of other processes that work on operations. */
  peers(): number
  /** Whether something slows it that may stop it. */
  limited(): boolean
}

export interface SamplerOptions {
  /** Between two looks while there is work. */
  everyMs: number
  cores: number
  probes: readonly Probe[]
}

interface Deps {
  /** A small connection of its own; looking must not wait for work, nor work for looking. */
  connection: StoreConnection
  telemetry: Telemetry
  work: Work
  /** Told after each look. */
  looked(): Promise<void>
}

/** Without work the server is left in peace, unless somebody has to know what is usual then. */
const idleFactor = 600
const baselineFactor = 10
/** On the way from a soft to a hard limit it pays to look more often. */
const limitedFactor = 0.25

/** A look that takes longer than this is missed, once for each such time. */
const missMs = 1_000
/** What was seen within this time is fresh, however often one looks. */
const freshMs = 3_000

/**
 * Looks at all probes in the background, once per interval for all operations of the process. What cannot be read is
 * counted, and the policy decides what that means; a probe that hangs keeps nobody waiting but itself.
 */
export class Sampler {
  readonly #options: SamplerOptions
  readonly #deps: Deps
  readonly #readings = new Map<string, Reading>()
  readonly #readers = new Map<string, Reader>()
  readonly #pending = new Set<string>()
  readonly #blind = new Map<string, Blindness>()
  #serverVersion: number | undefined
  #committed = 0
  #wake = new AbortController()
  #idle = false
  #missAtMs = 0
  #lookedAtMs: number | undefined
  #waiting: (() => void)[] = []

  constructor(options: SamplerOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  /** Looks until the signal aborts: at once when there is work, otherwise when one interval has passed. */
  async run(signal: AbortSignal): Promise<void> {
    this.#idle = true
    if (this.#deps.work.tables().length === 0)
      await sleep(this.#options.everyMs, AbortSignal.any([signal, this.#wake.signal]))
    while (!signal.aborted) {
      const began = performance.now()
      await withinMs(this.#look(), this.#options.everyMs, signal)
      const idle = this.#deps.work.tables().length === 0
      const factor = idle ? this.#idleFactor : this.#deps.work.limited() ? limitedFactor : 1
      const waitMs = this.#options.everyMs * factor - (performance.now() - began)
      this.#wake = new AbortController()
      this.#idle = idle
      if (waitMs > 0) await sleep(waitMs, AbortSignal.any([signal, this.#wake.signal]))
    }
  }

  get #idleFactor(): number {
    return this.#options.probes.some(({ name }) => name === 'walRate') ? baselineFactor : idleFactor
  }

  /** Work begins: looking now and then is not enough any more. */
  rouse(): void {
    if (this.#idle) this.#wake.abort()
  }

  /** Waits until the last look is fresh, for a while. */
  async fresh(signal: AbortSignal): Promise<void> {
    const ageMs = performance.now() - (this.#lookedAtMs ?? -Infinity)
    if (ageMs <= Math.max(freshMs, this.#options.everyMs * 3)) return
    const looked = new Promise<void>((resolve) => this.#waiting.push(resolve))
    this.#wake.abort()
    await withinMs(looked, Math.max(freshMs, this.#options.everyMs * 2), signal)
  }

  /** The reading of a probe, for a table where it is about one. */
  reading(probe: Probe, table: string): Reading {
    return this.#readings.get(keyOf(probe, table)) ?? unread
  }

  /** Probes that can see what they are for. */
  get sighted(): readonly Probe[] {
    return this.#options.probes.filter(({ name }) => !this.#blind.has(name))
  }

  /** Each probe with what it cannot see. */
  async examine(): Promise<{ probe: Probe; blindness: Blindness | undefined }[]> {
    const source = await this.#source()
    const found: { probe: Probe; blindness: Blindness | undefined }[] = []
    for (const probe of this.#options.probes) {
      found.push({ probe, blindness: (await probe.blindness?.(source)) ?? (await tryOnce(probe, source)) })
    }
    return found
  }

  async #look(): Promise<void> {
    if (this.#pending.has('')) return this.#late()
    this.#pending.add('')
    this.#missAtMs = performance.now() + missMs
    try {
      const source = await this.#source()
      const tables = this.#deps.work.tables()
      const outside = this.sighted.filter(({ per }) => per === 'outside')
      for (const probe of outside) void this.#readOutside(probe, source)
      for (const probe of this.sighted) {
        if (probe.per === 'server') await this.#read(probe, source, '')
        if (probe.per === 'table') for (const table of tables) await this.#read(probe, source, table)
      }
      this.#lookedAtMs = performance.now()
    } catch {
      // The server cannot be asked at all; who works there finds out, too.
      this.#miss()
    } finally {
      this.#pending.delete('')
    }
    await this.#deps.looked()
    for (const resolve of this.#waiting.splice(0)) resolve()
  }

  /** A poll came before the one before it had an answer: a slow server is not a blind one, until it is very slow. */
  async #late(): Promise<void> {
    if (performance.now() < this.#missAtMs) return
    this.#missAtMs = performance.now() + missMs
    this.#miss()
    await this.#deps.looked()
  }

  #miss(): void {
    for (const probe of this.sighted) {
      if (probe.per === 'outside') continue
      for (const table of probe.per === 'table' ? this.#deps.work.tables() : ['']) {
        const key = keyOf(probe, table)
        this.#readings.set(key, missed(this.#readings.get(key) ?? unread))
      }
    }
  }

  async #read(probe: Probe, source: Source, table: string): Promise<void> {
    const key = keyOf(probe, table)
    try {
      const measure = await this.#reader(probe, key)(source, table)
      this.#readings.set(key, read(measure, performance.now()))
    } catch (error) {
      // What was never told is not told later either; a budget that could be read and cannot any more is another matter.
      if (isRefused(error) && this.#readings.get(key)?.atMs === undefined)
        return this.#leave(probe, refusal(probe, error))
      const reading = missed(this.#readings.get(key) ?? unread)
      this.#readings.set(key, reading)
      if (reading.missed === 1) this.#warn(probe, error)
    }
  }

  /** Not awaited: one that does not answer is missed once per poll, and asked again when it has. */
  async #readOutside(probe: Probe, source: Source): Promise<void> {
    if (this.#pending.has(probe.name)) {
      this.#readings.set(probe.name, missed(this.#readings.get(probe.name) ?? unread))
      return
    }
    this.#pending.add(probe.name)
    await this.#read(probe, source, '')
    this.#pending.delete(probe.name)
  }

  #reader(probe: Probe, key: string): Reader {
    const reader = this.#readers.get(key) ?? probe.open()
    this.#readers.set(key, reader)
    return reader
  }

  async #source(): Promise<Source> {
    const { connection, work } = this.#deps
    const query = async <Row extends object>(text: string, values: unknown[] = []): Promise<Row[]> =>
      (await connection.query(text, values)).rows as Row[]
    const committed = work.committed()
    const source: Source = {
      query,
      commit: async () => void (await smallCommit(connection)),
      serverVersion: this.#serverVersion ?? 0,
      cores: this.#options.cores,
      nowMs: performance.now(),
      transactions: work.transactions(),
      peers: work.peers(),
      working: committed > this.#committed,
    }
    this.#committed = committed
    if (this.#serverVersion !== undefined) return source
    const known = { ...source, serverVersion: await readServerVersion(query) }
    await this.#findBlind(known)
    this.#serverVersion = known.serverVersion
    return known
  }

  /** What cannot be seen with this role is found once, said once, and left alone. */
  async #findBlind(source: Source): Promise<void> {
    for (const probe of this.#options.probes) {
      const blindness = await probe.blindness?.(source)
      if (blindness !== undefined) this.#leave(probe, blindness)
    }
  }

  #leave({ name }: Probe, blindness: Blindness): void {
    if (this.#blind.has(name)) return
    this.#blind.set(name, blindness)
    this.#deps.telemetry.emit('probe.blind', { probe: name, ...blindness })
  }

  #warn({ title }: Probe, error: unknown): void {
    this.#deps.telemetry.emit('warning', { message: `The probe for ${title} failed: ${errorRecord(error).message}` })
  }
}

function refusal({ name }: Probe, error: unknown): Blindness {
  const remedy = `let the role ask this server for it; where no role may, set governor.limits.${name} to false`
  return { reason: `the server refuses to tell (${errorRecord(error).message})`, remedy }
}

/** What the server refuses to tell a probe, found by asking. Other errors say nothing about what it can see. */
async function tryOnce(probe: Probe, source: Source): Promise<Blindness | undefined> {
  if (probe.per !== 'server') return undefined
  const refused = await probe
    .open()(source, '')
    .then(
      () => undefined,
      (error: unknown) => error,
    )
  return isRefused(refused) ? refusal(probe, refused) : undefined
}

/** Waits for something, but not longer than that. */
async function withinMs(thing: Promise<void>, ms: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController()
  await Promise.race([thing, sleep(ms, AbortSignal.any([signal, over.signal]))])
  over.abort()
}

const keyOf = ({ name, per }: Probe, table: string): string => (per === 'table' ? `${name} ${table}` : name)
