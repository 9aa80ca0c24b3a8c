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
 * when a minute later it is not marked as told, somebody else tells it, with the same id, so that the receiver knows.
 *
 * On a crash between the change and the event the event is lost, the row is there and the webhook is told.
 */
import { randomUUID } from 'node:crypto'
import { errorRecord } from '../../std/error-record.ts'
import * as store from '../../store/alerts.ts'
import type { StoreConnection } from '../../store/connection.ts'
import type { Database } from '../../store/database.ts'
import { queueSamples, writeSamples, type QueueSampleRow } from '../../store/samples.ts'
import type { Telemetry } from '../../telemetry/telemetry.ts'
import { after } from './hysteresis.ts'
import type { AlertOptions } from './options.ts'
import { judgeFailed, judgeOperation, judgeQueue, judgeSchedule, type Judgement } from './rules.ts'
import { sendWebhook, type WebhookOptions } from './webhook.ts'

export type { Alert } from '../../store/alerts.ts'

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
  async list({ all = false }: { all?: boolean } = {}): Promise<store.Alert[]> {
    return store.listAlerts((await this.#deps.database()).control, { all })
  }

  /** Takes a sample of what can be seen now, judges, and gives the alerts that fire: for checks without a worker. */
  async check(): Promise<store.Alert[]> {
    const { control } = await this.#deps.database()
    const counts = { queues: [], operations: [], signals: [] }
    // Only workers look how long queues are, so this comes as one.
    await writeSamples(control, { workerId: randomUUID(), number: 1, counts })
    await this.judge()
    return this.list()
  }

  /** @internal Judges by what the samples say now, and tells what has changed. */
  async judge(): Promise<void> {
    const { control } = await this.#deps.database()
    const changed = await control.transaction(async (tx) => {
      const [lock] = await store.lockAlerts(tx)
      if (lock?.locked !== true) return []
      await store.forgetAlerts(tx)
      const standings = standingsOf(await this.#judgements(tx), await store.alertStandings(tx))
      return standings.length === 0 ? [] : store.saveAlerts(tx, { standings })
    })
    for (const alert of changed) this.#tell(alert)
    if (this.#options.webhook !== undefined) await this.#sendUntold(this.#options.webhook, control)
  }

  async #judgements(connection: StoreConnection): Promise<Judgement[]> {
    const { queue, operations, schedules } = this.#options
    const filter = { name: null, withinMs: lookBackMs, until: null, limit: 50_000 }
    const byQueue = groupByQueue(await queueSamples['10s'](connection, filter))
    const failing = await store.scheduleFacts(connection, { ticks: schedules.failed })
    return [
      ...[...byQueue].flatMap(([name, rows]) => judgeQueue(name, rows, queue(name))),
      ...(await store.operationFacts(connection, operations)).flatMap((facts) => judgeOperation(facts, operations)),
      ...(await store.failedOperations(connection)).map(judgeFailed),
      ...failing.map((facts) => judgeSchedule(facts, schedules.failed)),
    ]
  }

  #tell({ firing, value, threshold, after_ms: afterMs, since: _since, ...about }: Changed): void {
    if (firing) this.#deps.telemetry.emit('alert.fired', { ...about, value, threshold })
    else this.#deps.telemetry.emit('alert.cleared', { ...about, afterMs })
  }

  /** One at a time, each for a minute: where the receiver is slow, others go on with the rest. */
  async #sendUntold(webhook: WebhookOptions, connection: StoreConnection): Promise<void> {
    for (;;) {
      const [alert] = await store.takeUntold(connection)
      if (alert === undefined) return
      try {
        // The same for all who tell of this change.
        const id = `${alert.rule}:${alert.subject}:${alert.since.toISOString()}`
        await sendWebhook(webhook, { id, ...alert }, Date.now())
      } catch (error) {
        const message = `The webhook for alerts failed, and is tried again: ${errorRecord(error).message}`
        this.#deps.telemetry.emit('warning', { message })
        // Who does not answer is not asked for each of them: judging must go on.
        return
      }
      await store.noteTold(connection, alert)
    }
  }
}

type Changed = store.Alert & { after_ms: number }

function groupByQueue(rows: readonly QueueSampleRow[]): Map<string, QueueSampleRow[]> {
  const groups = new Map<string, QueueSampleRow[]>()
  for (const row of rows) {
    const group = groups.get(row.queue) ?? []
    group.push(row)
    groups.set(row.queue, group)
  }
  return groups
}

const nameOf = ({ rule, subject }: { rule: string; subject: string }): string => `${rule} ${subject}`

/** Where each rule stands after this look. What nobody speaks of any more is well; what was and stays well is left out. */
function standingsOf(
  judgements: readonly Judgement[],
  before: readonly store.AlertStanding[],
): readonly store.AlertStanding[] {
  const known = new Map(before.map((one) => [nameOf(one), one]))
  const judged = new Set(judgements.map(nameOf))
  const gone = before.filter((one) => !judged.has(nameOf(one))).map((one) => ({ ...one, verdict: 'calm' as const }))
  return [...judgements, ...gone].flatMap(({ verdict, ...judgement }) => {
    const was = known.get(nameOf(judgement))
    const { firing, streak, changed } = after({ firing: was?.firing ?? false, streak: was?.streak ?? 0 }, verdict)
    const same = was === undefined ? streak === 0 && !firing : !was.firing && was.streak === streak && !changed
    return same ? [] : [{ ...judgement, firing, streak }]
  })
}
