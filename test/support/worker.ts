import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { EventLog } from './events.ts'
import { patiently } from './patience.ts'

const root = new URL('../../', import.meta.url)

/** The built command line. Another build (a planted bug) can be put in its place. */
export const builtPackage = new URL('dist/', root)

/** On a server that many tests share, the load says nothing about the one test that looks at it. */
export const alone = {
  limits: { activeSessions: false, commitTime: false, checkpoints: false, transactions: false },
} as const

/** For tests that are not about the governor: nobody looks at the health of the server. */
const ungoverned = {
  limits: {
    ...alone.limits,
    archive: false,
    deadRows: false,
    lockWaits: false,
    oldestSnapshot: false,
    replicaBytes: false,
    replicaLag: false,
    slots: false,
    vacuum: false,
    walRate: false,
  },
} as const

/** The timings of the test profile: everything that takes half a minute in production takes a second or two here. */
export const testProfile = {
  worker: {
    concurrency: 1,
    lease: patiently(1_500),
    poll: '300ms',
    noProgress: patiently(3_000),
    stop: patiently(2_000),
  },
  timeouts: { statement: patiently(3_000), lock: patiently(1_000), idleInTransaction: patiently(3_000) },
  governor: ungoverned,
} as const

export interface SpawnOptions {
  url: string
  /** Module text that makes `operations`, with `expire`, `defineOperation` and `sql` at hand. */
  operations?: string
  /** Module text that makes `jobs`, with `defineJob`, `retryOn`, `snooze` and `cancel` at hand. */
  jobs?: string
  /** Module text that makes `schedules`, with `defineSchedule` at hand. */
  schedules?: string
  /** How far the clock of the process is ahead. */
  skewMs?: number
  /** Module text that makes `patterns`: machines, reconcilers, with what defines them at hand. */
  patterns?: string
  /** Module text that makes `inboxes`, with `defineInbox` at hand. */
  inboxes?: string
  /** Module text that makes `sweeps`, with `defineSweep` and `sql` at hand. */
  sweeps?: string
  profile?: object
  package?: URL
  args?: string[]
}

/** A worker in a process of its own, run by the real command line. */
export interface SpawnedWorker extends AsyncDisposable {
  readonly process: ChildProcess
  readonly pid: number
  /** Where it runs. */
  readonly folder: string
  readonly events: EventLog
  readonly stderr: string[]
  /** Exit code or signal, once it has ended. */
  readonly exited: Promise<number | NodeJS.Signals>
  kill(signal: NodeJS.Signals): void
}

export async function spawnWorker(options: SpawnOptions): Promise<SpawnedWorker> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-worker-'))
  const home = options.package ?? builtPackage
  const config = join(folder, 'sluice.config.mjs')
  await writeFile(
    config,
    `import { again, backfill, cancel, defineInbox, defineJob, defineMachine, defineOperation, defineReconciler, defineSchedule, defineSweep, expire, retryOn, snooze, sql } from '${new URL('index.js', home).href}'
${options.operations ?? 'const operations = []'}
${options.jobs ?? 'const jobs = []'}
${options.schedules ?? 'const schedules = []'}
${options.inboxes ?? 'const inboxes = []'}
${options.sweeps ?? 'const sweeps = []'}
${options.patterns ?? 'const patterns = {}'}
export default { ...${JSON.stringify(options.profile ?? testProfile)}, operations, jobs, schedules, inboxes, sweeps, ...patterns }
`,
  )
  const main = new URL('cli/main.js', home)
  const skewed = options.skewMs === undefined ? [] : ['--import', await skewedClock(folder, options.skewMs)]
  const child = spawn(
    process.execPath,
    [...skewed, main.pathname, 'worker', '--config', config, '--verbose', ...(options.args ?? [])],
    {
      cwd: folder,
      env: { ...process.env, NODE_ENV: 'test', SLUICE_DATABASE_URL: options.url, NODE_PATH: '' },
      stdio: ['ignore', 'ignore', 'pipe'],
    },
  )
  return watch(child, folder)
}

/** A module that shifts what JavaScript takes for the time. */
async function skewedClock(folder: string, skewMs: number): Promise<string> {
  const file = join(folder, 'clock.mjs')
  await writeFile(
    file,
    `const RealDate = Date
globalThis.Date = class Date extends RealDate {
  constructor(...parts) { super(...(parts.length === 0 ? [RealDate.now() + ${skewMs}] : parts)) }
  static now() { return RealDate.now() + ${skewMs} }
}
`,
  )
  return file
}

function watch(child: ChildProcess, folder: string): SpawnedWorker {
  const events = new EventLog()
  const stderr: string[] = []
  const exited = new Promise<number | NodeJS.Signals>((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? signal ?? 'SIGKILL'))
  })
  if (child.stderr !== null) {
    createInterface({ input: child.stderr }).on('line', (line) => {
      stderr.push(line)
      if (!line.startsWith('{')) return
      const { event, level: _level, time: _time, ...payload } = JSON.parse(line)
      events.push({ event, payload })
    })
  }
  return {
    process: child,
    pid: child.pid ?? 0,
    folder,
    events,
    stderr,
    exited,
    kill: (signal) => void child.kill(signal),
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
      await exited
      await rm(folder, { recursive: true, force: true })
    },
  }
}
