// node --import jiti/register benchmarks/main.ts expire [--rows 2000000] [--rounds 5] [--aged oldest|scattered] [--save]
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { interleave, summarise, type Scenario } from './harness.ts'
import { conditions, report, save } from './report.ts'
import { expireScenario, type ExpireChoices } from './scenarios/expire.ts'
import { throwAwayServer } from './server.ts'

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    rows: { type: 'string', default: '2000000' },
    rounds: { type: 'string', default: '5' },
    aged: { type: 'string', default: 'oldest' },
    note: { type: 'string' },
    save: { type: 'boolean', default: false },
  },
})

const scenarios: Record<string, (choices: ExpireChoices) => Promise<Scenario>> = { expire: expireScenario }

async function main(): Promise<void> {
  const [name = ''] = positionals
  const { aged, note } = values
  const make = scenarios[name]
  if (make === undefined) throw new Error(`name a scenario: ${Object.keys(scenarios).join(', ')}`)
  if (aged !== 'oldest' && aged !== 'scattered') throw new Error('--aged must be "oldest" or "scattered"')
  const rows = wholeNumber('rows', values.rows)
  const rounds = wholeNumber('rounds', values.rounds)
  await using server = await throwAwayServer()
  const found = await conditions(server.url)
  await using scenario = await make({ url: server.url, rows, aged })
  const summaries = summarise(await interleave(scenario, rounds, say), scenario.baseline)
  const command = `node --import jiti/register benchmarks/main.ts ${name} --rows ${rows} --rounds ${rounds} --aged ${aged}`
  const about = { conditions: note === undefined ? found : [...found, note], command, rounds }
  const text = report(scenario, summaries, about)
  process.stdout.write(`\n${text}`)
  if (values.save) say(`saved in ${await save(fileURLToPath(new URL('results', import.meta.url)), text)}`)
}

function wholeNumber(option: string, text: string): number {
  const value = Number(text)
  if (Number.isSafeInteger(value) && value > 0) return value
  throw new Error(`--${option} must be a whole number from 1 on, not "${text}"`)
}

function say(line: string): void {
  process.stderr.write(`${line}\n`)
}

await main()
