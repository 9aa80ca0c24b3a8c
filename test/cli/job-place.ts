import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cancel, defineJob, Sluice, snooze, type JobDefinition } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { sluiceHere, temporaryFolder, type Ran } from './run-cli.ts'

/** The jobs of the configuration file, for the command line, which needs no more than their names and their args. */
const config = `import { defineJob } from 'sluice'
const numbers = { '~standard': { version: 1, vendor: 'test', validate: (value) =>
  typeof value?.n === 'number' ? { value } : { issues: [{ message: 'must be a number', path: ['n'] }] } } }
const perform = async () => undefined
export default {
  jobs: [
    defineJob({ name: 'add-number', args: numbers, perform }),
    defineJob({ name: 'sync-customer', queue: 'billing', unique: { for: '1h', key: () => 'customer 7' }, perform }),
    defineJob({ name: 'plain', perform }),
  ],
}`

export async function writeConfig(folder: string): Promise<void> {
  await writeFile(join(folder, 'sluice.config.ts'), config)
}

/** What text from outside may try on a terminal. */
export const nasty = 'bad \u001B[31mred\u009B2J\u202Eend'

/** Jobs for a worker of the test, each with its own end. */
export const definitions = {
  plain: defineJob({ name: 'plain', perform: async () => undefined }),
  fails: defineJob({
    name: 'fails',
    queue: 'billing',
    retry: { attempts: 2, wait: '1ms' },
    perform() {
      throw Object.assign(new TypeError(`no such ${nasty}\nsecond line`), { code: 'E_GONE' })
    },
  }),
  gone: defineJob({ name: 'gone', perform: () => cancel('the customer is gone') }),
  later: defineJob({ name: 'later', perform: () => snooze('1h', 'not there yet') }),
  long: defineJob({ name: 'long', timeout: '5m', perform: ({ signal }) => sleep(60_000, undefined, { signal }) }),
  keyed: defineJob({
    name: 'keyed',
    concurrency: { limit: 1, key: () => 'customer:7' },
    perform: async () => undefined,
  }),
  locked: defineJob({ name: 'locked', unique: { key: () => 'a key' }, perform: async () => undefined }),
}

export interface Place extends AsyncDisposable {
  folder: string
  db: TestDatabase
  /** For setting up and looking; knows all the jobs and works on none. */
  api: Sluice
  run(...args: string[]): Promise<Ran>
  json(...args: string[]): Promise<unknown>
  /** A worker in this process that knows these jobs. */
  work(...jobs: JobDefinition[]): Promise<Sluice>
}

/** A project with some jobs and a database of its own. */
export async function place(): Promise<Place> {
  const db = await testDatabase()
  const folder = await temporaryFolder()
  await writeConfig(folder.path)
  const run = (...args: string[]) => sluiceHere(args, { folder: folder.path, env: { DATABASE_URL: db.url } })
  const api = new Sluice({ database: db.url, jobs: Object.values(definitions) })
  const started = [api]
  return {
    folder: folder.path,
    db,
    api,
    run,
    json: async (...args) => JSON.parse((await run(...args, '--json')).stdout),
    async work(...jobs) {
      // The usual lease: no job of these tests should be taken over, however busy the machine is.
      const worker = { poll: '100ms', stop: '2s', jobs: { poll: '50ms' } } as const
      const one = new Sluice({ worker, database: db.workerUrl, jobs })
      started.push(one)
      await one.start()
      return one
    },
    async [Symbol.asyncDispose]() {
      for (const one of started) await one.stop()
      await folder[Symbol.asyncDispose]()
      await db[Symbol.asyncDispose]()
    },
  }
}
