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
export async function sluice(args: readonly string[], { folder = tmpdir(), env = {} }: Setting = {}): Promise<Ran> {
  const child = spawn(process.execPath, [main, ...args], {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ran: Ran = { exitCode: null, stdout: '', stderr: '' }
  child.stdout.setEncoding('utf8').on('data', (text: string) => (ran.stdout += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (ran.stderr += text))
  ran.exitCode = await new Promise((resolve) => child.on('close', resolve))
  return ran
}

/** A folder that is gone after the test. */
export async function temporaryFolder(): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(tmpdir(), 'sluice-cli-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}
