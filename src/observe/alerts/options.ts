import { amountOf, checkNames, timeOf, wholeOf } from '../../config/option.ts'
import type { Duration } from '../../std/duration.ts'
import type { OperationLimits, QueueLimits } from './rules.ts'
import { resolveWebhook, type WebhookConfig, type WebhookOptions } from './webhook.ts'

/** From where on a queue needs a person. What is left out has a default. */
export interface QueueAlertConfig {
  /** Growth over five minutes, in percent per minute, while at least `floor` jobs wait. */
  growth?: number
  floor?: number
  /** Jobs that wait, however many they were before. Default: any number. */
  depth?: number
  /** The p95 of the time from due to started. */
  wait?: Duration
  /** Told when the trend of the wait reaches its limit within this time. */
  ahead?: Duration
  /** Jobs that end without success, per minute. */
  dead?: number
}

/** When to call a person, and how. */
export interface AlertConfig {
  /** The limits of all queues, and of single ones: `{ all: { wait: '5m' }, billing: { wait: '30s' } }`. */
  queues?: Readonly<Record<string, QueueAlertConfig>>
  /** How long an operation may be on hold or paused, and how many rows may be quarantined within ten minutes. */
  operations?: { held?: Duration; paused?: Duration; quarantined?: number }
  /** So many ticks of a schedule in a row without success. */
  schedules?: { failed?: number }
  /** Where to tell it. */
  webhook?: WebhookConfig
}

/** The defaults, each for a reason. */
const alertDefaults = {
  /** Twice as much within a quarter of an hour, and enough of it that workers do not catch up by chance. */
  queue: { growth: 5, floor: 1_000, wait: '5m', ahead: '15m', dead: 10 },
  operations: { held: '30m', paused: '1 day', quarantined: 100 },
  schedules: { failed: 3 },
} as const

/** Alerts with every value filled in. */
export interface AlertOptions {
  /** The limits of a queue. */
  queue: (name: string) => QueueLimits
  operations: OperationLimits
  schedules: { failed: number }
  webhook: WebhookOptions | undefined
}

const keys = {
  alerts: ['queues', 'operations', 'schedules', 'webhook'],
  queue: ['growth', 'floor', 'depth', 'wait', 'ahead', 'dead'],
  operations: ['held', 'paused', 'quarantined'],
  schedules: ['failed'],
} as const

/** Ticks of a schedule that are looked at. */
const mostTicks = 50

/** Checks what is configured and fills in the rest. */
export function resolveAlerts(config: AlertConfig = {}): AlertOptions {
  checkNames('alerts', config, keys.alerts)
  checkNames('alerts.operations', config.operations, keys.operations)
  checkNames('alerts.schedules', config.schedules, keys.schedules)
  const { all = {}, ...single } = config.queues ?? {}
  checkNames('alerts.queues.all', all, keys.queue)
  const usual = limitsOf('all', all)
  const own = new Map(
    Object.entries(single).map(([name, limits]) => {
      checkNames(`alerts.queues.${name}`, limits, keys.queue)
      return [name, limitsOf(name, { ...all, ...limits })]
    }),
  )
  const operations = { ...alertDefaults.operations, ...config.operations }
  return {
    queue: (name) => own.get(name) ?? usual,
    operations: {
      heldMs: timeOf('alerts.operations.held', operations.held, { leastMs: 1_000 }),
      pausedMs: timeOf('alerts.operations.paused', operations.paused, { leastMs: 1_000 }),
      quarantined: amountOf('alerts.operations.quarantined', operations.quarantined),
    },
    schedules: {
      failed: wholeOf('alerts.schedules.failed', config.schedules?.failed ?? alertDefaults.schedules.failed, mostTicks),
    },
    webhook: config.webhook === undefined ? undefined : resolveWebhook(config.webhook),
  }
}

function limitsOf(name: string, given: QueueAlertConfig): QueueLimits {
  const { growth, floor, depth, wait, ahead, dead } = { depth: undefined, ...alertDefaults.queue, ...given }
  const at = `alerts.queues.${name}`
  return {
    growth: amountOf(`${at}.growth`, growth),
    floor: amountOf(`${at}.floor`, floor),
    depth: depth === undefined ? null : amountOf(`${at}.depth`, depth),
    waitMs: timeOf(`${at}.wait`, wait, { leastMs: 1_000 }),
    aheadMs: timeOf(`${at}.ahead`, ahead, { leastMs: 1_000 }),
    dead: amountOf(`${at}.dead`, dead),
  }
}
