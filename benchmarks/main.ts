// npm run bench -- expire [--rows 2000000] [--aged oldest|scattered] [--rounds 5] [--note text] [--save]
// npm run bench -- requeue [--rows 2000000] [--note text] [--save]
// npm run bench -- jobs [--small] [--json] [--only drain,pickup] [--systems graphile,sluice] [--rounds 5] [--note text] [--save]
import { fileURLToPath } from 'node:url'
import { inspect, parseArgs } from 'node:util'
import { interleave, summarise } from './harness.ts'
import { conditions, report, save } from './report.ts'
import { expireScenario } from './scenarios/expire.ts'
import { fullSizes, smallSizes } from './scenarios/jobs/bench.ts'
import { jobsBenchmark } from './scenarios/jobs/jobs.ts'
import { jobsData, jobsReport } from './scenarios/jobs/report.ts'
import { measureRequeue, requeueReport } from './scenarios/requeue.ts'
import { throwAwayServer } from './server.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '2000000' },
    rounds: { type: 'string' },
    aged: { type: 'string', default: 'oldest' },
    small: { type: 'boolean', default: false },
    json: { type: 'boolean', default: false },
    only: { type: 'string' },
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

const scenarios: Record<string, () => Promise<Result>> = { expire, requeue, jobs }

async function main(): Promise<void> {
  const [name = ''] = positionals
  const scenario = scenarios[name]
  if (scenario === undefined) throw new Error(`name a scenario: ${Object.keys(scenarios).join(', ')}`)
  const { text, printed = `\n${text}` } = await scenario()
  process.stdout.write(printed)
  if (values.save) say(`saved in ${await save(fileURLToPath(new URL('results', import.meta.url)), text)}`)
}

async function expire(): Promise<Result> {
  const { aged } = values
  if (aged !== 'oldest' && aged !== 'scattered') throw new Error('--aged must be "oldest" or "scattered"')
  const rows = wholeNumber('rows', values.rows)
  const rounds = wholeNumber('rounds', values.rounds ?? '5')
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  await using scenario = await expireScenario({ url: server.url, rows, aged })
  const summaries = summarise(await interleave(scenario, rounds, say), scenario.baseline)
  const command = `npm run bench -- expire --rows ${rows} --rounds ${rounds} --aged ${aged}`
  return { text: report(scenario, summaries, { conditions: found, command, rounds }) }
}

async function requeue(): Promise<Result> {
  const rows = wholeNumber('rows', values.rows)
  await using server = await throwAwayServer()
  const found = await noted(server.url)
  const tenths = await measureRequeue({ url: server.url, rows }, say)
  const command = `npm run bench -- requeue --rows ${rows}`
  return { text: requeueReport(tenths, { conditions: found, command, rows }) }
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
