// npm run bench -- bulk [--small] [--json] [--only oldest,foreground] [--rows 5000000] [--rounds 5] [--note text] [--save]
// npm run bench -- requeue [--rows 2000000] [--note text] [--save]
// npm run bench -- retention [--rows 5000000] [--rounds 5] [--note text] [--save]
// npm run bench -- jobs [--small] [--json] [--only drain,pickup] [--systems graphile,sluice] [--rounds 5] [--note text] [--save]
// npm run bench -- releases --against <folder> [--small] [--only oldest,drain] [--rows 2000000] [--rounds 5] [--note text] [--save]
// npm run bench -- dashboard [--note text] [--save]
import { fileURLToPath } from 'node:url'
import { inspect, parseArgs } from 'node:util'
import { mkdir, writeFile } from 'node:fs/promises'
import { conditions, save } from './report.ts'
import { bulkBenchmark, fullBulk, smallBulk } from './scenarios/bulk/bulk.ts'
import { bulkPlot } from './scenarios/bulk/plot.ts'
import { bulkData, bulkReport } from './scenarios/bulk/report.ts'
import { dashboardReport, fullDashboard, measureDashboard } from './scenarios/dashboard.ts'
import { fullSizes, smallSizes } from './scenarios/jobs/bench.ts'
import { jobsBenchmark } from './scenarios/jobs/jobs.ts'
import { jobsData, jobsReport } from './scenarios/jobs/report.ts'
import { measureRequeue, requeueReport } from './scenarios/requeue.ts'
import { measureRetention, retentionCases, retentionReport } from './scenarios/retention.ts'
import { compareReleases, releasesReport } from './scenarios/releases.ts'
import { throwAwayServer } from './server.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string' },
    rounds: { type: 'string' },
    small: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
    against: { type: 'string' },
    systems: { type: 'string' },
    note: { type: 'string' },
    save: { type: 'boolean', default: false },
  },
})

/** What is printed, and the Markdown that is saved. */
interface Result {
  text: string
  printed?: string
}

const scenarios: Record<string, () => Promise<Result>> = { bulk, requeue, retention, jobs, releases, dashboard }

async function main(): Promise<void> {
  const [name = ''] = positionals
  const scenario = scenarios[name]
  if (scenario === undefined) throw new Error(`name a scenario: ${Object.keys(scenarios).join(', ')}`)
  const { text, printed = `\n${text}` } = await scenario()
  process.stdout.write(printed)
  if (values.save) say(`saved in ${await save(fileURLToPath(new URL('results', import.meta.url)), text)}`)
}

async function bulk(): Promise<Result> {
  const chosen = values.small ? smallBulk : fullBulk
  const rows = values.rows === undefined ? chosen.rows : wholeNumber('rows', values.rows)
  const rounds = values.rounds === undefined ? chosen.rounds : wholeNumber('rounds', values.rounds)
  const sizes = { ...chosen, rows, rounds }
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  const measured = await bulkBenchmark({ url: server.url, sizes, only: values.only?.split(','), say })
  const facts = [
    `table: ${rows.toLocaleString('en-US')} rows of about 200 bytes, half of which are deleted; half as many rows where a column is set; primary key and 2 indexes; a fresh copy, vacuum analyze and checkpoint before each run, the table and its indexes in shared buffers`,
    `application: ${sizes.rate} statements a second, half reads and half updates, half on the same table, in a process of its own; p50, p95 and p99 over those with nobody at work, the median of ${sizes.idleMs / 1_000} s before each run`,
    `a way that takes longer than ${sizes.limitMs / 1_000} s, and a loop by hand that takes longer than ${sizes.loopMs / 1_000} s, is stopped, and its speed until then counts: that flatters a loop that slows down; every other run was checked: exactly the right rows have changed`,
    `median [min..max] over ${rounds} interleaved rounds; ratios are taken within each round`,
  ]
  const about = { conditions: found, command: `npm run bench -- ${process.argv.slice(2).join(' ')}`, facts }
  const text = bulkReport(measured, about)
  if (values.save) await savePlots(measured)
  return values.json ? { text, printed: `${JSON.stringify(bulkData(measured, about), null, 2)}\n` } : { text }
}

async function savePlots(measured: Awaited<ReturnType<typeof bulkBenchmark>>): Promise<void> {
  const folder = new URL('results/plots/', import.meta.url)
  await mkdir(folder, { recursive: true })
  for (const outcome of measured)
    await writeFile(new URL(`bulk-${outcome.measured.key}.svg`, folder), bulkPlot(outcome))
}

async function requeue(): Promise<Result> {
  const rows = wholeNumber('rows', values.rows ?? '2000000')
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  const tenths = await measureRequeue({ url: server.url, rows }, say)
  const command = `npm run bench -- requeue --rows ${rows}`
  return { text: requeueReport(tenths, { conditions: found, command, rows }) }
}

async function retention(): Promise<Result> {
  const sizes = values.rows === undefined ? [5_000_000, 20_000_000] : [wholeNumber('rows', values.rows)]
  const rounds = wholeNumber('rounds', values.rounds ?? '5')
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  const measured = await measureRetention({ url: server.url, cases: retentionCases(sizes, 1_000_000), rounds }, say)
  const command = `npm run bench -- ${process.argv.slice(2).join(' ')}`
  return { text: retentionReport(measured, { conditions: found, command }) }
}

async function jobs(): Promise<Result> {
  const { small, json } = values
  const sizes = small ? smallSizes : fullSizes
  const rounds = values.rounds === undefined ? sizes.rounds : wholeNumber('rounds', values.rounds)
  const [only, systems] = [values.only?.split(','), values.systems?.split(',')]
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  const measured = await jobsBenchmark({ url: server.url, sizes: { ...sizes, rounds }, only, systems, say })
  const about = { conditions: found, command: `npm run bench -- ${process.argv.slice(2).join(' ')}` }
  const text = jobsReport(measured, about)
  return json ? { text, printed: `${JSON.stringify(jobsData(measured, about), null, 2)}\n` } : { text }
}

async function releases(): Promise<Result> {
  const { small, against } = values
  if (against === undefined) throw new Error('--against must name the folder of another release that is built')
  const [bulkSizes, jobSizes] = small ? [smallBulk, smallSizes] : [fullBulk, fullSizes]
  const rows = values.rows === undefined ? bulkSizes.rows : wholeNumber('rows', values.rows)
  const rounds = wholeNumber('rounds', values.rounds ?? (small ? '1' : '5'))
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  const compared = await compareReleases({
    url: server.url,
    against,
    bulk: { ...bulkSizes, rows, rounds },
    jobs: { ...jobSizes, rounds },
    only: values.only?.split(','),
    say,
  })
  return { text: releasesReport(compared, { conditions: found, command: 'npm run bench -- releases' }) }
}

async function dashboard(): Promise<Result> {
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  const measured = await measureDashboard({ url: server.url, sizes: fullDashboard }, say)
  return {
    text: dashboardReport(measured, { conditions: found, command: 'npm run bench -- dashboard', sizes: fullDashboard }),
  }
}

async function noted(url: string): Promise<string[]> {
  const found = await conditions(url)
  return values.note === undefined ? found : [...found, values.note]
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`--${option} must be a whole number from 1 on, not "${text}"`)
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

try {
  await main()
} catch (error) {
  // What was thrown on purpose says all in its message.
  say(error instanceof Error && error.constructor === Error ? error.message : inspect(error))
  process.exitCode = 1
}
