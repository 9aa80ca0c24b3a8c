/**
 * Alerts: what needs a person before it is an outage.
 *
 * The model. Rules are pure functions over samples and a few facts: how fast a queue grows, how long its jobs wait and
 * where that leads, jobs that die, operations on hold, schedules without success. The process that has taken the
 * samples of a span also judges; where each rule stands is one row for each thing that it is about. A rule fires after
 * two looks in a row, and is over after six calm ones, well below its limit: nothing flaps.
 *
 * The invariants. One process judges at a time. Who changes a row from well to firing, or back, tells: by an event (and
 * so in the log), once for all processes. A webhook is told at least once: who is about to tell says so in the row, and
 * when a minute later it is not marked as told, somebody else tells it, with the same id.
 *
 * On a crash between the change and the event the event is lost, the row is there and the webhook is told.
 */
import { randomUUID } from 'node:crypto'
import { errorRecord } from '../std/error-record.ts'
import {
  forgetAlerts,
  listAlerts,
  lockAlerts,
  noteTold,
  operationFacts,
  saveAlerts,
  scheduleFacts,
  takeUntold,
  type AlertRow,
  type NewStanding,
} from '../store/alerts.ts'
import type { StoreConnection } from '../store/connection.ts'
import type { Database } from '../store/database.ts'
import { queueSamples, writeSamples, type QueueSampleRow } from '../store/samples.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'
import { after } from './hysteresis.ts'
import type { AlertOptions } from './options.ts'
import { judgeOperation, judgeQueue, judgeSchedule, type Judgement } from './rules.ts'
import { sendWebhook } from './webhook.ts'

/** An alert: which rule, about what, and since when it is as it is. */
export interface Alert {
  rule: string
  /** The queue, operation or schedule that it is about. */
  subject: string
  firing: boolean
  severity: 'warning' | 'critical'
  message: string
  value: number | null
  threshold: number | null
  since: Date
}

interface Deps {
  database: () => Promise<Database>
  telemetry: Telemetry
}

const lookBackMs = 5 * 60_000

/** What needs a person. */
export class Alerts {
  readonly #options: AlertOptions
  readonly #deps: Deps

  constructor(options: AlertOptions, deps: Deps) {
    this.#options = options
    this.#deps = deps
  }

  /**
   * The alerts that fire, or with `all` also those that are over.
   *
   * @example
   * ```ts
   * for (const { message, since } of await sluice.alerts.list()) console.log(since, message)
   * ```
   */
  async list({ all = false }: { all?: boolean } = {}): Promise<Alert[]> {
    return (await listAlerts((await this.#deps.database()).control, { all })).map(alertOf)
  }

  /** Takes a sample of what can be seen now, judges, and gives the alerts that fire: for checks without a worker. */
  async check(): Promise<Alert[]> {
    const { control } = await this.#deps.database()
    const counts = { queues: [], operations: [], signals: [] }
    await writeSamples(control, { workerId: randomUUID(), number: 1, counts })
    await this.judge()
    return this.list()
  }

  /** @internal Judges by what the samples say now, and tells what has changed. */
  async judge(): Promise<void> {
    const { control } = await this.#deps.database()
    const changed = await control.transaction(async (tx) => {
      const [lock] = await lockAlerts(tx)
      if (lock?.locked !== true) return []
      await forgetAlerts(tx)
      const standings = standingsOf(await this.#judgements(tx), await listAlerts(tx, { all: true }))
      return standings.length === 0 ? [] : saveAlerts(tx, { standings })
    })
    for (const row of changed) this.#tell(row)
    if (this.#options.webhook !== undefined) await this.#sendUntold(control)
  }

  async #judgements(connection: StoreConnection): Promise<Judgement[]> {
    const { queue, operations, schedules } = this.#options
    const filter = { name: null, withinMs: lookBackMs, until: null, limit: 50_000 }
    const byQueue = groupByQueue(await queueSamples['10s'](connection, filter))
    const failing = await scheduleFacts(connection, { ticks: schedules.failed })
    return [
      ...[...byQueue].flatMap(([name, rows]) => judgeQueue(name, rows, queue(name))),
      ...(await operationFacts(connection, operations)).flatMap((facts) => judgeOperation(facts, operations)),
      ...failing.map((facts) => judgeSchedule(facts, schedules.failed)),
    ]
  }

  #tell({ rule, subject, firing, severity, message, value, threshold, after_ms: afterMs }: Changed): void {
    const about = { rule, subject, severity, message }
    if (firing) this.#deps.telemetry.emit('alert.fired', { ...about, value, threshold })
    else this.#deps.telemetry.emit('alert.cleared', { ...about, afterMs })
  }

  async #sendUntold(connection: StoreConnection): Promise<void> {
    const { webhook } = this.#options
    if (webhook === undefined) return
    for (const row of await takeUntold(connection)) {
      const { rule, subject } = row
      try {
        const id = `${rule}:${subject}:${row.changed_at.toISOString()}`
        await sendWebhook(webhook, { id, ...alertOf(row) }, Date.now())
        await noteTold(connection, { rule, subject, changedAt: row.changed_at })
      } catch (error) {
        const { message } = errorRecord(error)
        this.#deps.telemetry.emit('warning', {
          message: `The webhook for alerts failed, and is tried again: ${message}`,
        })
      }
    }
  }
}

type Changed = AlertRow & { after_ms: number }

function groupByQueue(rows: readonly QueueSampleRow[]): Map<string, QueueSampleRow[]> {
  const groups = new Map<string, QueueSampleRow[]>()
  for (const row of rows) {
    const group = groups.get(row.queue) ?? []
    group.push(row)
    groups.set(row.queue, group)
  }
  return groups
}

/** Where each rule stands after this look. What nobody speaks of any more is well; what was and stays well is left out. */
function standingsOf(judgements: readonly Judgement[], before: readonly AlertRow[]): NewStanding[] {
  const known = new Map(before.map((row) => [`${row.rule} ${row.subject}`, row]))
  const judged = new Set(judgements.map(({ rule, subject }) => `${rule} ${subject}`))
  const gone = before.flatMap((row): Judgement[] =>
    judged.has(`${row.rule} ${row.subject}`) ? [] : [{ ...(row as unknown as Judgement), verdict: 'calm' }],
  )
  return [...judgements, ...gone].flatMap(({ rule, subject, verdict, severity, message, value, threshold }) => {
    const was = known.get(`${rule} ${subject}`)
    const { firing, streak, changed } = after({ firing: was?.firing ?? false, streak: was?.streak ?? 0 }, verdict)
    const same = was === undefined ? streak === 0 && !firing : !was.firing && was.streak === streak && !changed
    return same ? [] : [{ rule, subject, firing, severity, message, value, threshold, streak }]
  })
}

function alertOf({ rule, subject, firing, severity, message, value, threshold, changed_at: since }: AlertRow): Alert {
  return { rule, subject, firing, severity, message, value, threshold, since }
}
