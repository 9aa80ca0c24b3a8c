import type { Command } from 'commander'
import type { SluiceConfig } from '../../index.ts'
import type { Output } from '../output.ts'
import { withSluice, type Session } from '../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../shell.ts'
import { wholeNumber } from '../whole-number.ts'
import { wordList } from '../word-list.ts'

interface WorkerOptions extends GlobalOptions {
  concurrency?: number
  queues?: readonly string[]
  jobs?: number
}

export const addWorker: CommandAdder = (parent, shell) => {
  parent
    .command('worker')
    .description('work on operations and jobs until SIGTERM or SIGINT; a second signal ends at once')
    .option('--concurrency <n>', 'batches at once in this process', wholeNumber(1, 200))
    .option('--jobs <n>', 'jobs at once in this process', wholeNumber(1, 10_000))
    .option('--queues <queues>', 'take jobs from these queues only, such as a,b', wordList)
    .action((_: unknown, command: Command) => worker(shell, command.optsWithGlobals<WorkerOptions>()))
}

async function worker(shell: Shell, options: WorkerOptions): Promise<void> {
  const { output, signal, env } = shell
  if (logFormat(output) === 'json') output.writeNotesAsJson()
  if (output.verbose && env['npm_lifecycle_event'] !== undefined) {
    output.warn(
      'npm started this worker and may keep SIGTERM to itself. In production run "node_modules/.bin/sluice worker".',
    )
  }
  signal.addEventListener('abort', () =>
    output.note('Stopping after the current sub-batches and jobs. Once more to end at once.'),
  )
  const adjust = (config: SluiceConfig): SluiceConfig => adjusted(config, options)
  await withSluice(shell, { options, configFile: 'required', adjust }, ({ sluice }) => work(shell, sluice))
}

/** The configuration with what the command line says instead. */
function adjusted(config: SluiceConfig, { concurrency, queues, jobs }: WorkerOptions): SluiceConfig {
  const crew = {
    ...config.worker?.jobs,
    ...(queues === undefined ? {} : { queues }),
    ...(jobs === undefined ? {} : { concurrency: jobs }),
  }
  const batches = concurrency === undefined ? {} : { concurrency }
  return { ...config, worker: { giveUp, ...config.worker, ...batches, jobs: crew } }
}

/** A process of its own may end: whatever started it starts it anew, with connections to where the database is by then. */
const giveUp = '5m'

/** Returns only when somebody asked it to end: a signal interrupts it, and what has started it stops the worker. */
async function work({ output }: Shell, sluice: Session['sluice']): Promise<void> {
  sluice.log({ stream: output.stderr, format: logFormat(output), verbose: output.verbose })
  // Without an ear for it the worker would have stopped on its own and the process would stay, doing nothing.
  const stopped = new Promise<void>((resolve) => sluice.on('worker.stopped', () => resolve()))
  let drained = false
  sluice.on('worker.draining', () => {
    drained = true
  })
  await sluice.start()
  await stopped
  if (drained) return
  throw new Error('The worker has stopped by itself; the lines above say why. Start it again.')
}

/** Text is for a person at a terminal; what is collected is read by programs first. */
function logFormat({ json, stderr }: Output): 'json' | 'text' {
  return json || stderr.isTTY !== true ? 'json' : 'text'
}
