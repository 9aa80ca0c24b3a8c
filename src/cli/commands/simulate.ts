import { readFile, stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { InvalidArgumentError, type Command } from 'commander'
import {
  didYouMean,
  limitedStretches,
  parseRecording,
  playRecording,
  plotTrace,
  probeNames,
  simulatedCases,
  simulateGovernor,
  SluiceError,
  type LimitedStretch,
  type LimitOptions,
  type ProbeLimits,
  type Simulation,
} from '../../index.ts'
import { count, percent, plural } from '../figures.ts'
import { fileProblem } from '../file-problem.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../shell.ts'
import { wholeNumber } from '../whole-number.ts'

interface SimulateOptions extends GlobalOptions {
  limit: LimitOptions
  speed: number
}

/** A file is read whole. */
const largest = 20 * 1024 * 1024
const caseNames = Object.keys(simulatedCases)

export const addSimulate: CommandAdder = (parent, shell) => {
  parent
    .command('simulate <signals>')
    .description(
      `show what the governor would do: with recorded signals (a file of JSON lines or CSV: second and values by name), or in a case: ${caseNames.join(', ')}`,
    )
    .option(
      '--limit <name=soft:hard>',
      'another limit of a signal, as in replicaLag=1s:5s; can be repeated',
      addLimit,
      {},
    )
    .option('--speed <rows>', 'rows in a second at full pace', wholeNumber(1, 1_000_000_000), 10_000)
    .action((signals: string, _: unknown, command: Command) =>
      simulate(shell, signals, command.optsWithGlobals<SimulateOptions>()),
    )
}

async function simulate({ output, folder }: Shell, given: string, { limit, speed }: SimulateOptions): Promise<void> {
  const { what, ...chosen } = await choose(folder, given)
  const trace = simulateGovernor({ ...chosen, limits: limit, fullSpeed: speed })
  const stretches = limitedStretches(trace)
  const rows = trace.reduce((sum, { rowsPerSecond }) => sum + rowsPerSecond, 0)
  if (output.json) return output.record({ signals: given, rows, limited: stretches, trace })
  output.note(`${given}: ${what}`)
  for (const line of plotTrace(trace).split('\n')) output.data(line)
  output.data()
  for (const stretch of stretches) output.data(stretchText(stretch))
  output.data(`${count(rows)} rows in ${trace.length} s, of ${count(speed * trace.length)} at full pace`)
}

function stretchText({ from, to, held, share, limitedBy }: LimitedStretch): string {
  const when = from === to ? `second ${from}` : `seconds ${from} to ${to}`
  const how = held > 0 ? `held for ${held} s` : `pace down to ${percent(share)}`
  return `${when}: ${how}: ${limitedBy}`
}

type Chosen = Pick<Simulation, 'seconds' | 'signals'> & { what: string }

async function choose(folder: string, given: string): Promise<Chosen> {
  const known = simulatedCases[given]
  if (known !== undefined) return { what: known.what, ...known.simulation() }
  const recording = parseRecording(await textOf(resolve(folder, given), given), probeNames)
  return { what: plural(recording.length, 'recorded moment'), ...playRecording(recording) }
}

async function textOf(path: string, given: string): Promise<string> {
  try {
    if ((await stat(path)).size > largest) throw new Error('it is larger than 20 MB')
    return await readFile(path, 'utf8')
  } catch (error) {
    throw new SluiceError('ARGS_INVALID', {
      message: `"${given}" is no case and cannot be read as a file: ${fileProblem(error)}.${didYouMean(given, caseNames)} Cases: ${caseNames.join(', ')}.`,
      details: { given },
      cause: error,
    })
  }
}

/** Reads `replicaLag=1s:5s`; whether the signal and its limits can be so is checked with the others. */
function addLimit(text: string, before: LimitOptions): LimitOptions {
  const [, name, soft, hard] = /^(\w+)=([^:]+):([^:]+)$/.exec(text) ?? []
  if (name === undefined || soft === undefined || hard === undefined) {
    throw new InvalidArgumentError('It must look like replicaLag=1s:5s: a signal, its soft and its hard limit.')
  }
  const limits = { soft: numeric(soft), hard: numeric(hard) } as ProbeLimits
  return { ...before, [name]: limits }
}

function numeric(text: string): number | string {
  return Number.isFinite(Number(text)) ? Number(text) : text
}
