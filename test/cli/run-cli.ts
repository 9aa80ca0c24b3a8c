import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

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
