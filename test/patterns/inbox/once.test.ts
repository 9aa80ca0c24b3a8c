import { spawn, type ChildProcess } from 'node:child_process'
import { once as heard } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defineJob, type OnceContext } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { startFaultProxy } from '../../support/fault-proxy/index.ts'
import { openClient, startedWorker } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'
import { builtPackage } from '../../support/worker.ts'
import { ledgerDatabase, place, signal, type Place } from './ground.ts'

let db: TestDatabase
let at: Place

beforeAll(async () => {
  db = await ledgerDatabase()
  at = place(db, [])
})

afterAll(async () => {
  await at.sluice.stop()
  await db[Symbol.asyncDispose]()
})

const note =
  (text: string) =>
  async ({ tx }: OnceContext): Promise<string> => {
    await tx.query('insert into ledger (note) values ($1)', [text])
    return `${text} is done`
  }

const times = (text: string): Promise<number> => db.value('select count(*)::int from ledger where note = $1', [text])

test('the work is done once, and all get its result', async () => {
  expect(await at.sluice.once('first', note('first'))).toBe('first is done')
  expect(await at.sluice.once('first', note('first'))).toBe('first is done')
  expect(await times('first')).toBe(1)
  expect(await at.sluice.once('first', note('other'), { scope: 'other' })).toBe('other is done')
})

test('of many at once, in several processes, one does it and the others wait for its commit', async () => {
  await using other = place(db, [])
  const go = signal()
  const slow = async (context: OnceContext): Promise<string> => {
    const result = await note('many')(context)
    await go.given
    return result
  }
  const calls = Array.from({ length: 30 }, (_, i) => (i % 2 === 0 ? at : other).sluice.once('many', slow))
  await until('the other process waits', () => isWaiting(db))
  go.give()
  expect(new Set(await Promise.all(calls))).toEqual(new Set(['many is done']))
  expect(await times('many')).toBe(1)
})

test('what failed has stored nothing and done nothing; the next one does it', async () => {
  const [begun, go] = [signal(), signal()]
  const failing = async (context: OnceContext): Promise<string> => {
    await note('failing')(context)
    begun.give()
    await go.given
    throw new RangeError('no')
  }
  const failed = at.sluice.once('failing', failing)
  await begun.given
  const next = at.sluice.once('failing', note('failing'))
  go.give()
  const [first, second] = await Promise.allSettled([failed, next])
  expect(first).toMatchObject({ status: 'rejected', reason: { name: 'RangeError', message: 'no' } })
  expect(second).toEqual({ status: 'fulfilled', value: 'failing is done' })
  expect(await times('failing')).toBe(1)
})

test('a result is kept for its time, and then the work may be done again', async () => {
  await at.sluice.once('brief', note('brief'), { for: '1h' })
  await db.query(`update sluice.once_result set expires_at = clock_timestamp() where key = 'brief'`)
  expect(await at.sluice.once('brief', () => 'again')).toBe('again')
  expect(await at.sluice.once('brief', () => 'third')).toBe('again')
  const left = await db.value<number>(
    `select extract(epoch from expires_at - clock_timestamp())::float8 from sluice.once_result where key = 'brief'`,
  )
  expect(left).toBeGreaterThan(23 * 3_600)
})

test.each([
  ['nothing', undefined],
  ['null', null],
  ['false', false],
  ['a list', [1, { a: 'b' }]],
])('%s is a result', async (name, value) => {
  expect(await at.sluice.once(`result ${name}`, () => value)).toEqual(value)
  expect(await at.sluice.once(`result ${name}`, () => 'another')).toEqual(value)
})

test.each([
  ['is no JSON', () => 5n, 'BigInt'],
  ['is too large', () => 'x'.repeat(300_000), 'more than 262144 bytes'],
])('a result that %s is refused, and what was done is taken back', async (name, result, message) => {
  const work = async (context: OnceContext): Promise<unknown> => {
    await note(name)(context)
    return result()
  }
  await expect(at.sluice.once(name, work)).rejects.toMatchObject({
    code: 'ONCE_RESULT_INVALID',
    message: expect.stringContaining(message),
  })
  expect(await times(name)).toBe(0)
  expect(await at.sluice.once(name, () => 'fine')).toBe('fine')
})

test.each([
  ['', {}, 'the key must be a text'],
  ['x\0', {}, 'the key must be a text'],
  ['x', { for: 'long' }, '"for" must be a time'],
  ['x', { scope: 5 }, '"scope" must be a text'],
  ['x', { fro: '1h' }, 'there is no option "fro"'],
])('once %j with %j is refused', async (key, options, message) => {
  await expect(at.sluice.once(key, () => 1, options as never)).rejects.toMatchObject({
    code: 'ONCE_INVALID',
    message: expect.stringContaining(message),
  })
})

const dividing = async (context: OnceContext): Promise<void> => {
  await note('inside')(context)
  await context.tx.query('select 1 / 0', [])
}

describe('in a transaction of the caller', () => {
  test('key, result and effect commit with it or not at all', async () => {
    await using client = await openClient(db.workerUrl)
    await client.query('begin')
    expect(await at.sluice.once('mine', note('mine'), { tx: client })).toBe('mine is done')
    expect(await at.sluice.once('mine', note('mine'), { tx: client })).toBe('mine is done')
    await client.query('rollback')
    expect(await times('mine')).toBe(0)
    await client.query('begin')
    await at.sluice.once('mine', note('mine'), { tx: client })
    await client.query('commit')
    expect(await at.sluice.once('mine', () => 'never')).toBe('mine is done')
    expect(await times('mine')).toBe(1)
  })

  test('a failure takes back its own part, and the caller may go on', async () => {
    await using client = await openClient(db.workerUrl)
    await client.query('begin')
    await client.query(`insert into ledger (note) values ('around')`)
    await expect(at.sluice.once('part', dividing, { tx: client })).rejects.toMatchObject({ code: '22012' })
    await client.query('commit')
    expect([await times('around'), await times('inside')]).toEqual([1, 0])
    expect(await at.sluice.once('part', () => 'free')).toBe('free')
  })

  test('such as that of a job, which is tried again', async () => {
    const charge = defineJob({
      name: 'charge',
      transaction: true,
      retry: { attempts: 3, wait: 20 },
      async perform({ tx, job }) {
        await at.sluice.once('charge:1', note('charge'), { tx })
        if (job.attempt === 1) throw new Error('after it')
      },
    })
    await using worker = await startedWorker(db, [charge])
    await worker.jobs.enqueue(charge)
    await worker.events.event('job.finished')
    await worker.jobs.enqueue(charge)
    await worker.events.event('job.finished', { nth: 2 })
    expect(await times('charge')).toBe(1)
  })
})

/** A process that does the work and stands still before its commit. */
interface Stuck extends AsyncDisposable {
  child: ChildProcess
  lines: string[]
}

async function stuckProcess(key: string, url: string): Promise<Stuck> {
  const script = `
    import { Sluice } from '${new URL('index.js', builtPackage).href}'
    const sluice = new Sluice({ database: '${url}', timeouts: { idleInTransaction: '2s', lock: '1s', statement: '5s' } })
    const result = await sluice.once('${key}', async ({ tx }) => {
      await tx.query("insert into ledger (note) values ('${key}')", [])
      console.log('effect')
      await new Promise((resolve) => process.stdin.once('data', resolve))
      return 'from the stuck one'
    }).catch((error) => 'failed: ' + error.message)
    console.log(result)
    process.exit(0)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  await until('the effect is there', () => lines.includes('effect'))
  return {
    child,
    lines,
    async [Symbol.asyncDispose]() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await heard(child, 'exit')
    },
  }
}

describe('a process that', () => {
  test('is killed between effect and commit has done nothing; who waits for it does the work', async () => {
    await using stuck = await stuckProcess('killed', db.workerUrl)
    const waiting = at.sluice.once('killed', note('killed'))
    await until('it waits', () => isWaiting(db))
    stuck.child.kill('SIGKILL')
    expect(await waiting).toBe('killed is done')
    expect(await times('killed')).toBe(1)
  })

  test('is stopped between effect and commit loses its turn, and gets the result of the other when it wakes', async () => {
    await using stuck = await stuckProcess('stopped', db.workerUrl)
    stuck.child.kill('SIGSTOP')
    // The server ends a session that is idle in its transaction.
    expect(await at.sluice.once('stopped', note('stopped'))).toBe('stopped is done')
    stuck.child.kill('SIGCONT')
    stuck.child.stdin?.write('go\n')
    await heard(stuck.child, 'exit')
    expect(stuck.lines.at(-1)).toMatch(/^failed: /)
    expect(await times('stopped')).toBe(1)
  })

  test('loses the answer to its COMMIT finds out that it has committed', async () => {
    const upstream = new URL(db.workerUrl)
    const proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
    await using _closing = proxy
    await using through = place(db, [], { database: proxy.url(db.workerUrl) })
    using rule = proxy.dropAnswerTo(/^commit/i, { times: 1, ending: 'rst' })
    expect(await through.sluice.once('lost answer', note('lost answer'))).toBe('lost answer is done')
    expect(rule.hits).toBe(1)
    expect(await times('lost answer')).toBe(1)
  })

  test('loses its connection before COMMIT finds out that nothing is there', async () => {
    const upstream = new URL(db.workerUrl)
    const proxy = await startFaultProxy({ host: upstream.hostname, port: Number(upstream.port) })
    await using _closing = proxy
    await using through = place(db, [], { database: proxy.url(db.workerUrl) })
    {
      using rule = proxy.answer('57P01', { to: /^commit/i })
      await expect(through.sluice.once('cut', note('cut'))).rejects.toMatchObject({ code: '57P01' })
      expect(rule.hits).toBe(1)
    }
    expect(await times('cut')).toBe(0)
    expect(await through.sluice.once('cut', note('cut'))).toBe('cut is done')
    expect(await times('cut')).toBe(1)
  })
})

test('an account that may only enqueue may do work once, too', async () => {
  await using client = await openClient(db.url)
  await client.query('begin')
  await client.query('set local role sluice_enqueue')
  expect(await at.sluice.once('narrow', () => 'done', { tx: client })).toBe('done')
  await client.query('commit')
})
