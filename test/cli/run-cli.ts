import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { reportFailure } from '../../src/cli/failure.ts'
import { Output } from '../../src/cli/output.ts'
import { createProgram, typed } from '../../src/cli/program.ts'

const main = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** What a run of the built command line left behind. */
export interface Ran {
  exitCode: number | null
  stdout: string
  stderr: string
}

export interface Setting {
  folder?: string
  env?: Record<string, string>
}

/** Runs the built command line as a user would, with an environment that says nothing about databases. */
export async function sluice(args: readonly string[], setting: Setting = {}): Promise<Ran> {
  return startSluice(args, setting).ended
}

/**
 * Runs the command line in this process: the same program, without the second that a process of its own takes. For
 * tests that call it often; that the built one starts, reads its surroundings and ends is shown by others.
 */
export async function sluiceHere(
  words: readonly string[],
  { folder = tmpdir(), env = {} }: Setting = {},
): Promise<Ran> {
  const args = typed(words)
  const [stdout, stderr] = [new Kept(), new Kept()]
  const has = (flag: string): boolean => args.includes(flag)
  const look = { json: has('--json'), colour: !has('--no-color'), quiet: has('--quiet'), verbose: has('--verbose') }
  const output = new Output({ stdout, stderr, env, ...look })
  const program = await createProgram({ output, signal: new AbortController().signal, env, folder }, args)
  process.exitCode = undefined
  try {
    await program.parseAsync([...args], { from: 'user' })
  } catch (error) {
    process.exitCode = reportFailure(error, output)
  }
  const exitCode = process.exitCode ?? 0
  // The exit code of a command is none of the test runner's.
  process.exitCode = undefined
  return { exitCode, stdout: stdout.text, stderr: stderr.text }
}

/** A stream that keeps what is written to it. */
class Kept extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

/** A run of the built command line that has not ended yet. */
export interface Running extends Disposable {
  /** What it has written so far. */
  readonly ran: Readonly<Ran>
  readonly ended: Promise<Ran>
  kill(signal: NodeJS.Signals): void
}

/** Starts the built command line; it is gone after the test. */
export function startSluice(args: readonly string[], { folder = tmpdir(), env = {} }: Setting = {}): Running {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ran: Ran = { exitCode: null, stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text))
  const ended = new Promise<Ran>((resolve) => {
    child.on('close', (exitCode) => resolve(Object.assign(ran, { exitCode })))
  })
  const kill = (signal: NodeJS.Signals): void => void child.kill(signal)
  return { ran, ended, kill, [Symbol.dispose]: () => kill('SIGKILL') }
}

/** A folder that is gone after the test. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
