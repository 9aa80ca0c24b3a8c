import { setTimeout as sleep } from 'node:timers/promises'
import { Sluice } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { until } from '../../support/wait.ts'
import { spawnWorker, type SpawnedWorker } from '../../support/worker.ts'
import { databaseOf } from '../jobs/database.ts'
import { machines, records, type Story } from './stories.ts'

export const stories: Record<string, Story> = { records, machines }

export interface Plan {
  clusterUrl: string
  rows: number
  processes: number
  /** How often a worker is killed, and how often the queue is lost, both while there is work. */
  kills: number
  losses: number
  package?: URL
}

export interface Outcome {
  rows: number
  kills: number
  losses: number
  /** Live jobs that were lost with the queue, over all losses. */
  lostJobs: number
  /** From the last harm, a loss of everything, until all rows had ended. */
  convergedMs: number
  totalMs: number
  /** Jobs that found nothing to do, and rows that were enqueued by a reconciler. */
  left: number
  reconciled: number
  wrong: Record<string, number>
}

/** What is wrong with an outcome; nothing, if it is as it should be. */
export function failingIn({ wrong, lostJobs, reconciled }: Outcome): string[] {
  const bad = Object.entries(wrong).filter(([, count]) => count !== 0)
  return [
    ...bad.map(([name, count]) => `${name}: ${count}`),
    ...(lostJobs === 0 || reconciled === 0 ? ['nothing was lost and found again'] : []),
  ]
}

const profile = {
  worker: { concurrency: 1, lease: '1.5s', poll: '1s', stop: '2s', jobs: { concurrency: 8, poll: '200ms' } },
  timeouts: { statement: '5s', lock: '2s', idleInTransaction: '5s' },
}
const patienceMs = 300_000

/** Rows arrive bit by bit; each time some of them have ended, a worker is killed or the queue is lost. */
export async function loseQueue(story: Story, plan: Plan): Promise<Outcome> {
  await using db = await databaseOf(plan)
  await db.query(story.schema)
  const began = Date.now()
  await using sluice = new Sluice({
    database: db.workerUrl,
    ...story.config,
    timeouts: { lock: '30s', statement: '60s' },
  })
  await using workers = new Workers(story, db, plan)
  await Promise.all(Array.from({ length: plan.processes }, () => workers.spawn()))
  const harms = order(plan)
  const ended = (): Promise<number> => db.value(story.ended)
  let [there, lostJobs, losses] = [0, 0, 0]
  for (const [nth, harm] of harms.entries()) {
    const target = Math.ceil(((nth + 1) * plan.rows) / harms.length)
    const most = harm === 'kill' ? target : target - Math.ceil((target - there) / 4)
    await feed(story, { db, sluice, from: there + 1, to: most })
    const half = (there + most) / 2
    there = target
    await until('half of the new rows have ended', async () => (await ended()) >= half, patienceMs)
    if (harm === 'kill') await workers.killOne()
    else {
      // So that there is surely something to lose, however fast the workers are.
      await sluice.queues.pause('default')
      await feed(story, { db, sluice, from: most + 1, to: target })
      lostJobs += await lose(db, (losses += 1) === plan.losses ? 2 : losses % 3)
      await sluice.queues.resume('default')
    }
  }
  const harmed = Date.now()
  await until('all rows have ended', async () => (await ended()) === plan.rows, patienceMs)
  const now = Date.now()
  return {
    rows: plan.rows,
    kills: plan.kills,
    losses,
    lostJobs,
    convergedMs: now - harmed,
    totalMs: now - began,
    left: workers.count('job.left'),
    reconciled: workers.reconciled,
    wrong: await story.wrong(db, plan.rows),
  }
}

/** Kills and losses mingled; the last harm is a loss. */
function order({ kills, losses }: Plan): ('kill' | 'loss')[] {
  const per = Math.ceil(kills / losses)
  const harms = Array.from({ length: losses }, (_, i) => [
    ...Array.from({ length: Math.min(per, Math.max(0, kills - i * per)) }, () => 'kill' as const),
    'loss' as const,
  ])
  return harms.flat()
}

/** New rows, each with its job, as an application makes them. */
async function feed(
  story: Story,
  { db, sluice, from, to }: { db: TestDatabase; sluice: Sluice; from: number; to: number },
): Promise<void> {
  for (let at = from; at <= to; at += 500) {
    const ids = Array.from({ length: Math.min(500, to - at + 1) }, (_, i) => at + i)
    await db.query(`insert into ${story.table} (id) select unnest($1::int[])`, [ids])
    await story.begin(sluice, ids)
  }
}

const lossOf = [
  'sluice.job, sluice.job_claim, sluice.job_lock, sluice.job_cancel',
  // The unique keys stay behind.
  'sluice.job, sluice.job_claim',
  'sluice.job, sluice.job_claim, sluice.job_lock, sluice.job_cancel, sluice.reconciler',
]

/** Empties tables of the queue under the hands of the workers; gives the number of jobs that were there. */
async function lose(db: TestDatabase, kind: number): Promise<number> {
  for (;;) {
    try {
      const jobs = await db.value<number>('select count(*)::int from sluice.job')
      await db.query(`set lock_timeout = '1s'; truncate ${lossOf[kind]}`)
      return jobs
    } catch (error) {
      // Somebody was in the way, or it was a deadlock.
      if (!['55P03', '40P01'].includes(String((error as { code?: string }).code))) throw error
      await sleep(20)
    }
  }
}

/** Worker processes, of which one is killed now and then. */
class Workers implements AsyncDisposable {
  readonly #all: SpawnedWorker[] = []
  readonly #story: Story
  readonly #db: TestDatabase
  readonly #plan: Plan

  constructor(story: Story, db: TestDatabase, plan: Plan) {
    this.#story = story
    this.#db = db
    this.#plan = plan
  }

  async spawn(): Promise<void> {
    const { jobs, patterns } = this.#story
    const { package: home } = this.#plan
    const worker = await spawnWorker({
      url: this.#db.workerUrl,
      jobs,
      patterns,
      profile,
      ...(home === undefined ? {} : { package: home }),
    })
    this.#all.push(worker)
    await worker.events.event('worker.started')
  }

  /** Kills the one that has worked most, and puts another in its place. */
  async killOne(): Promise<void> {
    const [victim] = this.#all
      .filter(({ process: child }) => child.exitCode === null && child.signalCode === null)
      .toSorted((a, b) => b.events.count('job.finished') - a.events.count('job.finished'))
    victim?.kill('SIGKILL')
    await victim?.exited
    await this.spawn()
  }

  count(name: 'job.left'): number {
    return this.#all.reduce((sum, { events }) => sum + events.count(name), 0)
  }

  get reconciled(): number {
    return this.#all
      .flatMap(({ events }) => events.all)
      .reduce((sum, one) => sum + (one.event === 'reconciler.finished' ? one.payload.enqueued : 0), 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#all.map((worker) => worker[Symbol.asyncDispose]()))
  }
}
