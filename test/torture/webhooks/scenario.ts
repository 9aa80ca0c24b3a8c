import { constants, cpus, setPriority } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { Sluice } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { spawnWorker, type SpawnedWorker } from '../../support/worker.ts'
import { databaseOf } from '../jobs/database.ts'
import { renewalsText, tables } from './renewals.ts'
import { sendAll, type Sent } from './senders.ts'
import { Web } from './web.ts'

export interface WebhookPlan {
  clusterUrl: string
  notifications: number
  /** Kills of workers that hold messages, and of processes with an endpoint. */
  kills: number
  webKills: number
  senders?: number
  /** Deliveries per second; without it as fast as they are answered. */
  rate?: number
  workers?: number
  /**
   * Workers have the lowest priority, as if on machines of their own: else each start of one takes the processor from
   * endpoints and senders for a second, and that is what their times would tell.
   */
  workersApart?: boolean
  pauseMs?: number
  package?: URL
}

export interface WebhookOutcome extends Sent {
  notifications: number
  kills: number
  /** How many of them came while notifications were sent: the others say nothing about the answers. */
  killsUnderLoad: number
  webKills: number
  /** Notifications without a row, and rows too many. */
  missing: number
  doubled: number
  /** Messages that are not marked as processed. */
  unmarked: number
  /** Jobs that were isolated because workers died with them, and were taken up again. */
  quarantined: number
  rescued: number
  sendingMs: number
  /** The part of the processors that nobody needed meanwhile. Near zero, times say more of the machine than of us. */
  idle: number
  elapsedMs: number
}

const profile = {
  worker: { concurrency: 1, lease: '1.5s', poll: '1s', stop: '2s', jobs: { concurrency: 10, poll: '200ms' } },
  timeouts: { statement: '5s', lock: '2s', idleInTransaction: '4s' },
}

/** A storm of deliveries over HTTP while the processes that take them in and process them are killed. */
export async function tortureWebhooks(plan: WebhookPlan): Promise<WebhookOutcome> {
  const began = Date.now()
  await using db = await databaseOf(plan)
  await db.query(tables)
  const home = plan.package === undefined ? {} : { package: plan.package }
  await using crew = new Crew(db, plan)
  const webs = [new Web({ url: db.workerUrl, ...home }), new Web({ url: db.workerUrl, ...home })]
  await using _webs = { [Symbol.asyncDispose]: async () => void (await Promise.all(webs.map((web) => web.kill()))) }
  await Promise.all([crew.start(), ...webs.map((web) => web.start())])
  const { notifications, senders = 16, rate } = plan
  const [sendingFrom, idleFrom] = [Date.now(), processorTimes()]
  const harming = Promise.all([killWorkers(crew, plan), killWebs(webs, { db, ...plan })])
  const sent = await sendAll({ notifications, senders, rate, ports: () => webs.map(({ port }) => port) })
  const killsUnderLoad = crew.kills
  const [sendingMs, idle] = [Date.now() - sendingFrom, idleSince(idleFrom)]
  const [kills, webKills] = await harming
  const quarantined = await drain(db)
  return {
    notifications,
    ...sent,
    kills,
    killsUnderLoad,
    webKills,
    missing: notifications - (await db.value<number>('select count(distinct uuid)::int from creator_subscriptions')),
    doubled: await db.value('select (count(*) - count(distinct uuid))::int from creator_subscriptions'),
    unmarked: await db.value('select count(*)::int from sluice.inbox_key where state <> 1'),
    quarantined,
    rescued: crew.rescued,
    sendingMs,
    idle,
    elapsedMs: Date.now() - began,
  }
}

function processorTimes(): { idle: number; all: number } {
  const times = cpus().map((processor) => processor.times)
  const sum = (of: (one: (typeof times)[number]) => number): number => times.reduce((total, one) => total + of(one), 0)
  return {
    idle: sum(({ idle }) => idle),
    all: sum(({ user, nice, sys, idle, irq }) => user + nice + sys + idle + irq),
  }
}

function idleSince(from: { idle: number; all: number }): number {
  const now = processorTimes()
  return Math.round(((now.idle - from.idle) / Math.max(1, now.all - from.all)) * 100) / 100
}

/** Kills a worker that holds messages, each time that so much more is done; each is replaced. */
async function killWorkers(crew: Crew, { notifications, kills }: WebhookPlan): Promise<number> {
  for (let hit = 0; hit < kills; hit++) {
    await crew.processed((notifications * hit) / (kills + 1))
    await sleep(Math.random() * 30)
    await crew.killHolder()
  }
  return kills
}

async function killWebs(webs: readonly Web[], plan: WebhookPlan & { db: TestDatabase }): Promise<number> {
  const { db, notifications, webKills } = plan
  for (let hit = 0; hit < webKills; hit++) {
    const mark = (notifications * (hit + 1)) / (webKills + 2)
    while ((await db.value<number>('select count(*)::int from sluice.inbox_key')) < mark) await sleep(100)
    const web = webs[hit % webs.length]
    await web?.kill()
    await web?.start()
  }
  return webKills
}

/** Waits for the end of all jobs. A job that was there when three workers died was isolated for that; now it may run. */
async function drain(db: TestDatabase): Promise<number> {
  await using sluice = new Sluice({ database: db.url })
  let quarantined = 0
  for (const end = Date.now() + 300_000; ;) {
    const { jobs } = await sluice.jobs.list({ states: ['quarantined'] })
    for (const { id } of jobs) await sluice.jobs.retry(id)
    quarantined += jobs.length
    if (jobs.length === 0 && (await db.value<boolean>('select count(*) = 0 from sluice.job'))) return quarantined
    if (Date.now() > end) throw new Error('the messages are not all processed within five minutes')
    await sleep(50)
  }
}

/** The workers. */
class Crew implements AsyncDisposable {
  readonly #db: TestDatabase
  readonly #plan: WebhookPlan
  readonly #all: SpawnedWorker[] = []
  kills = 0

  constructor(db: TestDatabase, plan: WebhookPlan) {
    this.#db = db
    this.#plan = plan
  }

  get rescued(): number {
    return this.#all.reduce((sum, { events }) => sum + events.count('job.rescued'), 0)
  }

  async start(): Promise<void> {
    for (let i = 0; i < (this.#plan.workers ?? 2); i++) await this.#spawn()
    await Promise.all(this.#all.map(({ events }) => events.event('worker.started')))
  }

  async #spawn(): Promise<void> {
    const { package: home, pauseMs = 40, workersApart = false } = this.#plan
    const inboxes = renewalsText({ pauseMs })
    const other = home === undefined ? {} : { package: home }
    const worker = await spawnWorker({ url: this.#db.workerUrl, inboxes, profile, ...other })
    if (workersApart) setPriority(worker.pid, constants.priority.PRIORITY_LOW)
    this.#all.push(worker)
  }

  /** Waits until so many are processed. */
  async processed(count: number): Promise<void> {
    for (const end = Date.now() + 300_000; ; await sleep(100)) {
      if ((await this.#db.value<number>('select count(*)::int from creator_subscriptions')) >= count) return
      if (Date.now() > end) throw new Error(`not ${count} processed within five minutes`)
    }
  }

  /** Kills one that has written the row of a message and not committed it. */
  async killHolder(): Promise<void> {
    const alive = (): SpawnedWorker[] =>
      this.#all.filter(({ process: child }) => child.exitCode === null && child.signalCode === null)
    for (const end = Date.now() + 60_000; ; await sleep(10)) {
      const busy = alive().filter(isWriting)
      const victim = busy[Math.floor(Math.random() * busy.length)]
      if (victim !== undefined) {
        victim.kill('SIGKILL')
        await victim.exited
        this.kills += 1
        return this.#spawn()
      }
      if (Date.now() > end) throw new Error('no worker has a message')
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker[Symbol.asyncDispose]()))
  }
}

/** What was seen of a worker's events so far: reading all of them each time would slow the senders beside it. */
const seen = new WeakMap<SpawnedWorker, { upTo: number; open: Set<number> }>()

/** Whether a handler has said that its row is written and has not ended since. */
function isWriting(worker: SpawnedWorker): boolean {
  const { upTo, open } = seen.get(worker) ?? { upTo: 0, open: new Set<number>() }
  const { all } = worker.events
  for (const { event, payload } of all.slice(upTo)) {
    if (event === 'job.logged') open.add(payload.jobId)
    else if (event === 'job.finished' || event === 'job.lost' || event === 'job.retried') open.delete(payload.jobId)
  }
  seen.set(worker, { upTo: all.length, open })
  return open.size > 0
}

/** The names of what is wrong; none: all promises were kept. */
export function wrongIn(outcome: WebhookOutcome): string[] {
  return (['missing', 'doubled', 'unmarked', 'newTwice'] as const).filter((finding) => outcome[finding] !== 0)
}

/** The times, and what one must know to read them. */
export function figuresOf(outcome: WebhookOutcome): string {
  const { perSecond, p50Ms, p99Ms, p999Ms, maxMs, unanswered, refused, idle } = outcome
  return [
    `${perSecond} deliveries per second to 2 processes with an endpoint, killed ${outcome.webKills} times; workers killed ${outcome.kills} times, ${outcome.killsUnderLoad} of them meanwhile`,
    `an answer took, as the sender saw it: ${p50Ms} ms (p50), ${p99Ms} ms (p99), ${p999Ms} ms (p99.9), ${maxMs} ms (longest)`,
    `${unanswered} attempts met a dead process and ${refused} were told to come again; all were delivered later, and are timed from then on`,
    `workers had the lowest priority, as if on machines of their own; the processors were idle for ${Math.round(idle * 100)} % of the time`,
  ].join('\n')
}
