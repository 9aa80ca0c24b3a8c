import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { chown, chmod, mkdir, mkdtemp, realpath, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Client } from 'pg'
import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type EmbeddedOptions, type EmbeddedPostgres, startEmbedded } from '../../src/embedded/index.ts'
import { platformPackage, thisMachine } from '../../src/embedded/platform.ts'
import { commandOf, isAlive } from '../../src/embedded/processes.ts'
import { compileStarter } from './compiled.ts'

export const asRoot = process.getuid?.() === 0
/** Whom the tests take for an ordinary user when they run as root; else they are one themselves. */
export const ordinary = asRoot ? { uid: numberOf('-u'), gid: numberOf('-g') } : {}

function numberOf(flag: '-u' | '-g'): number {
  return Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' }))
}

const require = createRequire(import.meta.url)
export const packageBinaries = join(dirname(require.resolve(platformPackage(thisMachine()))), '../native')

const undo: (() => Promise<unknown>)[] = []
/** Clears up after each test, and after the last one of the file. */
export function clearUp(): void {
  afterEach(async () => {
    for (const step of undo.splice(0).toReversed()) await step()
  })
  afterAll(async () => {
    await (await compiling)?.remove()
    compiling = undefined
  })
}

/** A folder that everyone can enter; gone after the test. */
export async function ground(): Promise<string> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'sluice-embedded-')))
  await chmod(folder, 0o755)
  undo.push(() => rm(folder, { recursive: true, force: true }))
  return folder
}

/** The folder of a server that has run before, for all tests of a file: most of a first start is initdb. */
export function settledGround(): () => string {
  let dataDir = ''
  beforeAll(async () => {
    dataDir = await realpath(await mkdtemp(join(tmpdir(), 'sluice-embedded-')))
    const server = await startEmbedded({ dataDir, settings: { fsync: 'off' } })
    await server.stop()
  })
  afterAll(() => rm(dataDir, { recursive: true, force: true }))
  return () => dataDir
}

/** A folder that belongs to the ordinary user, in one that does not. */
export async function ordinaryGround(): Promise<string> {
  const folder = join(await ground(), 'home')
  await mkdir(folder)
  if (ordinary.uid !== undefined) await chown(folder, ordinary.uid, ordinary.gid)
  return folder
}

/** Starts a server in this process that does not sync, and stops it after the test. */
export async function start(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const server = await startEmbedded({ settings: { fsync: 'off' }, ...options })
  undo.push(() => (server.started ? server.stop('immediate') : end(server.pid)))
  return server
}

export interface Report {
  url: string
  port: number
  pid: number
  started: boolean
  code?: string
  message?: string
}

export interface StarterOptions extends EmbeddedOptions {
  manner?: 'hold' | 'leave'
  cwd?: string
  env?: Record<string, string>
  uid?: number
  gid?: number
}

export interface Starter {
  child: ChildProcess
  report: Promise<Report>
}

let compiling: ReturnType<typeof compileStarter> | undefined

/** Starts a server in a process of its own. The server is ended after the test, and so is that process. */
export async function starter({ manner = 'leave', cwd, env, uid, gid, ...options }: StarterOptions): Promise<Starter> {
  compiling ??= compileStarter()
  const { script } = await compiling
  const told = JSON.stringify({ settings: { fsync: 'off' }, ...options })
  const child = spawn(process.execPath, [script, told, manner], {
    ...(uid === undefined || gid === undefined ? {} : { uid, gid }),
    cwd: cwd ?? fileURLToPath(new URL('.', import.meta.url)),
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const report = firstLine(child).then((line): Report => JSON.parse(line))
  undo.push(async () => {
    child.kill('SIGKILL')
    const { pid } = await report.catch(() => ({ pid: undefined }))
    if (pid !== undefined) await end(pid)
  })
  return { child, report }
}

/** What such a process tells, where the process itself does not matter. */
export const reported = async (options: StarterOptions): Promise<Report> => (await starter(options)).report

async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout === null) throw new Error('The starter has no output.')
  for await (const line of createInterface({ input: child.stdout })) return line
  throw new Error('The starter said nothing.')
}

async function end(pid: number): Promise<void> {
  if (!(await runs(pid))) return
  process.kill(pid, 'SIGQUIT')
  await gone(pid)
}

/** Where nobody reaps orphans, a dead process keeps its number: its empty command line gives it away. */
export const runs = async (pid: number): Promise<boolean> => isAlive(pid) && (await commandOf(pid))?.trim() !== ''

export async function gone(pid: number): Promise<void> {
  for (let waited = 0; await runs(pid); waited += 20) {
    if (waited > 10_000) throw new Error(`Process ${pid} does not end.`)
    await sleep(20)
  }
}

export async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<unknown[]>({ text, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

export const uidOf = (pid: number): number =>
  Number(execFileSync('ps', ['-o', 'uid=', '-p', String(pid)], { encoding: 'utf8' }))

export async function refusal(attempt: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error: unknown = await attempt.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  expect(error).toMatchObject({ name: 'SluiceError' })
  return Object.assign({ code: '', message: '' }, error, error instanceof Error ? { message: error.message } : {})
}
