import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OnceContext } from '../../../src/index.ts'
import type { TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'
import { ledgerDatabase, notes, place, signal, type Place } from './ground.ts'

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

const note = async ({ tx }: OnceContext, text: string): Promise<string> => {
  await tx.query('insert into ledger (note) values ($1)', [text])
  return text
}

const outer = (n: number): Promise<string> =>
  at.sluice.once(`outer ${n}`, async (context) => {
    await note(context, `outer ${n}`)
    const inner = await at.sluice.once(`inner ${n}`, (inside) => note(inside, `inner ${n}`))
    const deepest = await at.sluice.once(`deepest ${n}`, () => at.sluice.once(`bottom ${n}`, () => n))
    return `${inner} ${deepest}`
  })

test('work may be done once inside of other work, also by more callers than there are connections', async () => {
  const callers = Array.from({ length: 40 }, (_, n) => n)
  expect(await Promise.all(callers.map(outer))).toEqual(callers.map((n) => `inner ${n} ${n}`))
  expect(await notes(db)).toHaveLength(80)
})

test('what was done inside stays done when the work around it fails', async () => {
  const failing = at.sluice.once('around', async () => {
    await at.sluice.once('inside', (context) => note(context, 'inside'))
    throw new RangeError('no')
  })
  await expect(failing).rejects.toThrow('no')
  expect(await at.sluice.once('inside', () => 'never')).toBe('inside')
})

test('a key inside of itself is refused at once, and nothing of it is done', async () => {
  const inside = at.sluice.once('self', async () => {
    await at.sluice.once('between', () => at.sluice.once('self', () => 'never'))
  })
  await expect(inside).rejects.toMatchObject({ code: 'ONCE_INVALID', message: expect.stringContaining('for itself') })
  expect(await at.sluice.once('self', () => 'free')).toBe('free')
  // A call that was only begun there is not inside.
  const go = signal()
  let left: Promise<string> = Promise.resolve('')
  await at.sluice.once('leaves', () => {
    left = go.given.then(() => at.sluice.once('leaves', () => 'never'))
    return 'its result'
  })
  go.give()
  expect(await left).toBe('its result')
})

test('a key that is still at work in the same transaction is refused, and does not answer undefined', async () => {
  await using client = await openClient(db.workerUrl)
  await client.query('begin')
  const inside = at.sluice.once('mine', ({ tx }) => at.sluice.once('mine', () => 'never', { tx }), { tx: client })
  await expect(inside).rejects.toMatchObject({ code: 'ONCE_INVALID' })
  // Called from outside of that work, but on its transaction.
  const [begun, go] = [signal(), signal()]
  const slow = async (): Promise<string> => {
    begun.give()
    await go.given
    return 'first'
  }
  const first = at.sluice.once('beside', slow, { tx: client })
  await begun.given
  await expect(at.sluice.once('beside', () => 'second', { tx: client })).rejects.toMatchObject({ code: 'ONCE_INVALID' })
  go.give()
  expect(await first).toBe('first')
  expect(await at.sluice.once('beside', () => 'third', { tx: client })).toBe('first')
  await client.query('commit')
})
