// npm run torture -- operations [--rows 200000] [--processes 3] [--lanes 3] [--kills 20] [--stops 10] [--only <scenario>]
// [--mutant <name>]: the full form of test/faults/operations.test.ts, with figures.
// npm run torture -- jobs [--jobs 20000] [--processes 3] [--kills 60] [--stops 12] [--cuts 60] [--restarts 4]
// [--only <phase>] [--mutant <name>]: the full form of test/faults/jobs.test.ts.
// npm run torture -- schedules [--kills 50] [--stops 12] [--cuts 30] [--processes 3] [--runs 3000]
// [--only kills|stops|commits|gaps|ticks]: the full form of test/faults/schedules.test.ts.
// npm run torture -- reconciler [--rows n] [--processes 3] [--kills 20] [--losses 6] [--only records|machines]: the full
// form of test/faults/lost-queue.test.ts, with 20,000 records and 3,000 rows of a machine.
// npm run torture -- webhooks [--notifications 5000] [--rate 200] [--senders 64] [--kills 20] [--mutant <name>]: the full
// form of test/faults/webhooks.test.ts, with the time that answers took. --rate 0: as fast as they are answered.
// npm run torture -- batches [--batches 200] [--size 100] [--processes 3] [--kills 30] [--stops 6] [--cuts 6]
// [--mutant <name>]: batches of jobs; the full form of test/faults/batches.test.ts.
// npm run torture -- sweeps [--pastes 50000] [--objects 10000] [--processes 4] [--kills 30] [--stops 10] [--faults 1000]
// [--mutant <name>]: the full form of test/faults/sweeps.test.ts.
// npm run torture -- replica [--rows 600000] [--seconds 20]: a replica that stands still in the middle of a run; the full
// form of test/faults/replica.test.ts, with a plot.
// npm run torture -- strange [--runs 100] [--seed n]: databases with settings, names, types and triggers at random; the full
// form of test/e2e/strange.test.ts. Each prints its seed; --seed n runs that one alone.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { mutantNamed } from '../mutants/catalogue.ts'
import { plant } from '../mutants/plant.ts'
import { ownServer } from '../support/own-server.ts'
import { tortureBatches } from './batches/scenario.ts'
import { wrongIn as wrongInBatches } from './batches/verdict.ts'
import { phases, runPhase } from './jobs/suite.ts'
import { startPair } from '../support/replica.ts'
import { freezeReplica, plotSights, wrongInReplica } from './replica/scenario.ts'
import { failingIn, loseQueue, stories } from './reconciler/scenario.ts'
import { schedulePhases } from './schedules/suite.ts'
import { runStrange } from './strange/scenario.ts'
import { figuresOf, tortureWebhooks, wrongIn } from './webhooks/scenario.ts'
import { tortureSweeps } from './sweeps/scenario.ts'
import { wrongIn as wrongInSweeps } from './sweeps/verdict.ts'
import {
  killWorkers,
  loseCommits,
  overtakeWorkers,
  restartServer,
  stopWorkers,
  type Outcome,
  type Plan,
} from './scenarios.ts'

interface Minimum {
  faults: number
  fenceRefusals?: number
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string' },
    processes: { type: 'string' },
    pastes: { type: 'string', default: '50000' },
    objects: { type: 'string', default: '10000' },
    faults: { type: 'string', default: '1000' },
    lanes: { type: 'string', default: '3' },
    jobs: { type: 'string', default: '20000' },
    kills: { type: 'string' },
    stops: { type: 'string' },
    batches: { type: 'string', default: '200' },
    size: { type: 'string', default: '100' },
    cuts: { type: 'string' },
    restarts: { type: 'string', default: '4' },
    losses: { type: 'string', default: '6' },
    notifications: { type: 'string', default: '5000' },
    senders: { type: 'string', default: '64' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '20' },
    mutant: { type: 'string' },
    only: { type: 'string' },
    runs: { type: 'string' },
    seed: { type: 'string' },
  },
})

function report(name: string, outcome: Outcome, least: Minimum): boolean {
  const held = outcome.wrong === 0 && outcome.counted === outcome.rows && outcome.status === 'finished'
  const hit = outcome.faults >= least.faults && outcome.fenceRefusals >= (least.fenceRefusals ?? 0)
  const verdict = held ? (hit ? 'ok' : 'NOT ENOUGH FAULTS HIT') : 'ROWS LOST OR DOUBLED'
  process.stdout.write(`${name.padEnd(16)} ${verdict.padEnd(22)} ${JSON.stringify(outcome)}\n`)
  return held && hit
}

interface Ground {
  clusterUrl: string
  restart: (nth: number) => Promise<void>
  /** The build to torture, where it is not the usual one. */
  home: { package?: URL }
}

/** Runs suites on a server of their own with fsync on: crashes must be survived by what is really written. */
async function onOwnServer(suite: (ground: Ground) => Promise<boolean>): Promise<boolean> {
  await using server = await ownServer()
  await using planted = values.mutant === undefined ? undefined : await plant(mutantNamed(values.mutant))
  const home = planted === undefined ? {} : { package: planted.package }
  return await suite({ clusterUrl: server.url, restart: (nth) => server.restart(nth), home })
}

async function operations({ clusterUrl, restart, home }: Ground): Promise<boolean> {
  const [kills, stops] = [Number(values.kills ?? 20), Number(values.stops ?? 10)]
  const plan = (faults: number): Plan => ({
    clusterUrl,
    rows: Number(values.rows ?? 200_000),
    processes: Number(values.processes ?? 3),
    lanes: Number(values.lanes),
    faults,
    ...home,
  })
  const scenarios: Record<string, () => Promise<boolean>> = {
    kills: async () => report(`${kills} SIGKILLs`, await killWorkers(plan(kills)), { faults: kills }),
    stops: async () => (values.mutant === undefined ? stopped(plan(stops)) : overtaken(plan(stops))),
    commits: async () => report('10 lost COMMITs', await loseCommits(plan(10)), { faults: 10 }),
    restarts: async () => report('3 restarts', await restartServer(plan(3), restart), { faults: 3 }),
  }
  let good = true
  for (const [name, scenario] of Object.entries(scenarios)) {
    if (values.only === undefined || values.only === name) good = (await scenario()) && good
  }
  return good
}

async function stopped(plan: Plan): Promise<boolean> {
  const { faults } = plan
  return report(`${faults} SIGSTOPs`, await stopWorkers(plan), { faults, fenceRefusals: Math.floor(faults / 2) })
}

/** With a planted bug: each stop is where it bites, and the server keeps the session of whoever stands still. */
async function overtaken(plan: Plan): Promise<boolean> {
  const outcome = await overtakeWorkers({ ...plan, rows: 20_000, idleInTransaction: '60s' })
  return report(`${plan.faults} overtaken`, outcome, { faults: plan.faults })
}

async function jobs({ clusterUrl, restart, home }: Ground): Promise<boolean> {
  const amounts = {
    jobs: Number(values.jobs),
    kills: Number(values.kills ?? 60),
    stops: Number(values.stops ?? 12),
    cuts: Number(values.cuts ?? 60),
    restarts: Number(values.restarts),
  }
  const all = Object.entries(phases(amounts))
  const rest = {
    clusterUrl,
    restart,
    jobs: Math.ceil(amounts.jobs / all.length),
    processes: Number(values.processes ?? 3),
  }
  let good = true
  for (const [name, phase] of all) {
    if (values.only !== undefined && values.only !== name) continue
    good = (await runPhase(name, phase, { ...rest, ...home }, (line) => process.stdout.write(`${line}\n`))) && good
  }
  return good
}

async function schedules({ clusterUrl }: Ground): Promise<boolean> {
  const amounts = {
    clusterUrl,
    kills: Number(values.kills ?? 50),
    stops: Number(values.stops ?? 12),
    cuts: Number(values.cuts ?? 30),
    processes: Number(values.processes ?? 3),
  }
  let good = true
  for (const [name, phase] of Object.entries(schedulePhases)) {
    if (values.only !== undefined && values.only !== name) continue
    const { ok, outcome } = await phase({ ...amounts, runs: Number(values.runs ?? 3_000) })
    process.stdout.write(`${name.padEnd(10)} ${(ok ? 'ok' : 'BROKEN').padEnd(12)} ${JSON.stringify(outcome)}\n`)
    good = ok && good
  }
  return good
}

async function reconciler({ clusterUrl, home }: Ground): Promise<boolean> {
  const plan = {
    clusterUrl,
    processes: Number(values.processes ?? 3),
    kills: Number(values.kills ?? 20),
    losses: Number(values.losses),
    ...home,
  }
  let good = true
  for (const [name, story] of Object.entries(stories)) {
    if (values.only !== undefined && values.only !== name) continue
    const outcome = await loseQueue(story, { ...plan, rows: Number(values.rows ?? story.rows) })
    const wrong = failingIn(outcome)
    process.stdout.write(`${name.padEnd(16)} ${wrong.join(', ') || 'ok'} ${JSON.stringify(outcome)}\n`)
    good = wrong.length === 0 && good
  }
  return good
}

async function webhooks({ clusterUrl, home }: Ground): Promise<boolean> {
  const [notifications, senders, rate] = [Number(values.notifications), Number(values.senders), Number(values.rate)]
  const plan = { clusterUrl, notifications, senders, kills: Number(values.kills ?? 20), webKills: 4 }
  const outcome = await tortureWebhooks({ ...plan, workersApart: true, ...(rate > 0 ? { rate } : {}), ...home })
  const wrong = wrongIn(outcome)
  const verdict = wrong.length === 0 ? 'ok' : `WRONG: ${wrong.join(', ')}`
  process.stdout.write(`webhooks ${verdict} ${JSON.stringify(outcome)}\n`)
  process.stdout.write(`${figuresOf(outcome)}\n`)
  return wrong.length === 0
}

const times = <T>(count: number, name: T): { name: T; at: number }[] =>
  Array.from({ length: count }, (_, i) => ({ name, at: (i + 0.5) / count }))

async function batches({ clusterUrl, home }: Ground): Promise<boolean> {
  const [kills, stops, cuts] = [Number(values.kills ?? 30), Number(values.stops ?? 6), Number(values.cuts ?? 6)]
  const mingled = [
    ...times(kills, 'kill' as const),
    ...times(stops, 'stop' as const),
    ...times(cuts, 'loseMembers' as const),
  ]
  const harm = mingled.toSorted((a, b) => a.at - b.at).map(({ name }) => name)
  const [count, size] = [Number(values.batches), Number(values.size)]
  const plan = { clusterUrl, batches: count, size, harm, secondsPerHarm: 1.5, processes: Number(values.processes ?? 3) }
  const outcome = await tortureBatches({ ...plan, ...home })
  const wrong = wrongInBatches(outcome)
  const { kill = 0, stop = 0 } = outcome.hits
  const verdict = wrong.length > 0 ? `BROKEN: ${wrong.join(', ')}` : kill + stop < kills + stops ? 'NOT ENOUGH' : 'ok'
  process.stdout.write(`batches    ${verdict.padEnd(12)} ${JSON.stringify(outcome)}\n`)
  return verdict === 'ok'
}

async function sweeps({ clusterUrl, home }: Ground): Promise<boolean> {
  const plan = {
    pastes: Number(values.pastes),
    objects: Number(values.objects),
    processes: Number(values.processes ?? 4),
    kills: Number(values.kills ?? 30),
    stops: Number(values.stops ?? 10),
    faults: Number(values.faults),
    outageMs: 10_000,
    recreations: 100,
    latencyMs: 20,
  }
  const outcome = await tortureSweeps({ clusterUrl, ...plan, ...home })
  const { kills, stops, recreated, holds, faults } = outcome
  const hit =
    kills >= plan.kills &&
    stops >= plan.stops &&
    recreated >= plan.recreations &&
    holds > 0 &&
    faults.error + faults.hang + faults.lost >= plan.faults
  const wrong = wrongInSweeps(outcome)
  const verdict = wrong.length > 0 ? `BROKEN: ${wrong.join(', ')}` : hit ? 'ok' : 'NOT ENOUGH FAULTS HIT'
  process.stdout.write(`sweeps  ${verdict}  ${JSON.stringify(outcome)}\n`)
  return verdict === 'ok'
}

async function strange({ clusterUrl }: Ground): Promise<boolean> {
  const first = Number(values.seed ?? Date.now() % 1_000_000)
  const runs = values.seed === undefined ? Number(values.runs ?? 100) : 1
  let bad = 0
  for (let seed = first; seed < first + runs; seed++) {
    const { plan, wrong } = await runStrange(clusterUrl, seed)
    const verdict = wrong.length === 0 ? 'ok' : `WRONG: ${wrong.join(', ')} ${JSON.stringify(plan)}`
    process.stdout.write(`seed ${seed}  ${verdict}\n`)
    if (wrong.length > 0) bad += 1
  }
  process.stdout.write(`${runs - bad} of ${runs} databases held\n`)
  return bad === 0
}

/** On a pair of servers of its own. */
async function replica(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-replica-'))
  try {
    await using pair = await startPair(folder, { max_connections: '100' })
    // Held within 2 s: a second of lag, and half of one until that is seen.
    const lag = { soft: '400ms', hard: '1s' } as const
    const limits = { soft: 8 * 2 ** 20, hard: 64 * 2 ** 20, lag, every: '500ms' } as const
    const plan = { pair, rows: Number(values.rows ?? 600_000), freezeMs: Number(values.seconds) * 1_000, ...limits }
    const { sights, ...outcome } = await freezeReplica(plan)
    const wrong = wrongInReplica({ ...outcome, sights })
    const { holdAfterMs: late = Infinity } = outcome
    if (late > 2_000) wrong.push('held later than 2 s after the replica stood still')
    process.stdout.write(`replica  ${wrong.join(', ') || 'ok'}  ${JSON.stringify(outcome)}\n${plotSights(sights)}\n`)
    return wrong.length === 0
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

const suites: Record<string, (ground: Ground) => Promise<boolean>> = {
  operations,
  jobs,
  schedules,
  reconciler,
  webhooks,
  batches,
  sweeps,
  strange,
  replica,
}
const suite = suites[positionals[0] ?? '']
if (suite === undefined) {
  process.stderr.write(
    'usage: npm run torture -- operations [--rows n] [--processes n] [--lanes n] [--kills n] [--stops n] ' +
      '[--only kills|stops|commits|restarts] [--mutant name]\n' +
      '       npm run torture -- jobs [--jobs n] [--processes n] [--kills n] [--stops n] [--cuts n] [--restarts n] ' +
      '[--only kills|stops|cuts|restarts] [--mutant name]\n' +
      '       npm run torture -- schedules [--kills n] [--stops n] [--cuts n] [--processes n] [--runs n] ' +
      '[--only kills|stops|commits|gaps|ticks]\n' +
      '       npm run torture -- reconciler [--rows n] [--processes n] [--kills n] [--losses n] [--only records|machines]\n' +
      '       npm run torture -- webhooks [--notifications n] [--rate n] [--senders n] [--kills n] [--mutant name]\n' +
      '       npm run torture -- batches [--batches n] [--size n] [--processes n] [--kills n] [--stops n] [--cuts n] ' +
      '[--mutant name]\n' +
      '       npm run torture -- sweeps [--pastes n] [--objects n] [--processes n] [--kills n] [--stops n] [--faults n] ' +
      '[--mutant name]\n' +
      '       npm run torture -- strange [--runs n] [--seed n]\n' +
      '       npm run torture -- replica [--rows n] [--seconds n]\n',
  )
  process.exit(2)
}
const good = suite === replica ? await replica() : await onOwnServer(suite)
process.stdout.write(good ? 'all held\n' : 'FAILED\n')
process.exit(good ? 0 : 1)
