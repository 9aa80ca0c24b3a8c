// npm run torture -- operations [--rows 200000] [--processes 3] [--lanes 3] [--kills 20] [--stops 10] [--only <scenario>]
// [--mutant <name>]: the full form of test/e2e/faults.test.ts, with figures.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startCluster } from '../support/cluster.ts'
import { mutants, plant, type MutantName } from './mutants.ts'
import { restarting } from './restarts.ts'
import { killWorkers, loseCommits, restartServer, stopWorkers, type Outcome, type Plan } from './scenarios.ts'

interface Minimum {
  faults: number
  fenceRefusals?: number
}

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '200000' },
    processes: { type: 'string', default: '3' },
    lanes: { type: 'string', default: '3' },
    kills: { type: 'string', default: '20' },
    stops: { type: 'string', default: '10' },
    mutant: { type: 'string' },
    only: { type: 'string' },
  },
})
const [kills, stops] = [Number(values.kills), Number(values.stops)]

function report(name: string, outcome: Outcome, least: Minimum): boolean {
  const held = outcome.wrong === 0 && outcome.counted === outcome.rows && outcome.status === 'finished'
  const hit = outcome.faults >= least.faults && outcome.fenceRefusals >= (least.fenceRefusals ?? 0)
  const verdict = held ? (hit ? 'ok' : 'NOT ENOUGH FAULTS HIT') : 'ROWS LOST OR DOUBLED'
  process.stdout.write(`${name.padEnd(16)} ${verdict.padEnd(22)} ${JSON.stringify(outcome)}\n`)
  return held && hit
}

async function operations(): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-torture-'))
  // A server with fsync on: crashes must be survived by what is really written.
  const cluster = await startCluster(folder, { settings: { max_connections: '200' } })
  const server = restarting(cluster, folder)
  await using planted = values.mutant === undefined ? undefined : await plant(mutantName(values.mutant))
  const plan = (faults: number): Plan => ({
    clusterUrl: cluster.url,
    rows: Number(values.rows),
    processes: Number(values.processes),
    lanes: Number(values.lanes),
    faults,
    ...(planted === undefined ? {} : { package: planted.package }),
  })
  const scenarios: Record<string, () => Promise<boolean>> = {
    kills: async () => report(`${kills} SIGKILLs`, await killWorkers(plan(kills)), { faults: kills }),
    stops: async () =>
      report(`${stops} SIGSTOPs`, await stopWorkers(plan(stops)), {
        faults: stops,
        fenceRefusals: Math.floor(stops / 2),
      }),
    commits: async () => report('10 lost COMMITs', await loseCommits(plan(10)), { faults: 10 }),
    restarts: async () =>
      report('3 restarts', await restartServer(plan(3), (nth) => server.restart(nth)), { faults: 3 }),
  }
  try {
    let good = true
    for (const [name, scenario] of Object.entries(scenarios)) {
      if (values.only === undefined || values.only === name) good = (await scenario()) && good
    }
    return good
  } finally {
    await server.stop()
    await rm(folder, { recursive: true, force: true })
  }
}

function mutantName(name: string): MutantName {
  if (name in mutants) return name as MutantName
  throw new Error(`no mutant "${name}"; known: ${Object.keys(mutants).join(', ')}`)
}

if (positionals[0] !== 'operations') {
  process.stderr.write(
    'usage: npm run torture -- operations [--rows n] [--processes n] [--lanes n] [--kills n] [--stops n] ' +
      '[--only kills|stops|commits|restarts] [--mutant name]\n',
  )
  process.exit(2)
}
const good = await operations()
process.stdout.write(good ? 'all held\n' : 'FAILED\n')
process.exit(good ? 0 : 1)
