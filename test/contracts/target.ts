// What every target promises: windows that meet each row once, and commits that change rows only with their checkpoint.
// The suite looks through the port, and through what the bench of a target shows of it.
import sql from 'sql-template-tag'
import { describe, expect, test } from 'vitest'
import type { Key } from '../../src/store/operations.ts'
import type { Outcome } from '../../src/targets/outcome.ts'
import { sameKey } from '../../src/targets/walk.ts'
import {
  commit,
  factsOf,
  next,
  stretch,
  walkOf,
  workOf,
  type Form,
  type Peek,
  type TargetBench,
  type TargetCan,
  type TargetUnderTest,
  type Threat,
} from './target-bench.ts'

const none: Peek = {
  changed: 0,
  times: 0,
  checkpoint: null,
  rowsSeen: 0,
  rowsMatched: 0,
  rowsChanged: 0,
  subBatches: 0,
  quarantined: 0,
}
const some = (rows: number): Partial<Peek> => ({ checkpoint: [String(rows)], rowsSeen: rows, subBatches: 1 })
const error = { name: 'RangeError', message: 'a bad row' }

export function describeTarget(name: string, under: TargetUnderTest, can: TargetCan): void {
  const forms: Form[] = [...(can.oneStatement ? (['in one statement'] as const) : []), 'in a transaction', 'outside']

  describe(`${name} finds windows that`, () => {
    test.each<[string, string[], Key[]]>([
      ['meet each row once', ['a'], Array.from({ length: 50 }, (_, i) => [String(i * 3 - 20)])],
      ['meet each row of ties once', ['a', 'b'], Array.from({ length: 50 }, (_, i) => [`${i % 4}`, `${i}`])],
      ['are none in an empty table', ['a'], []],
    ])('%s', async (_, columns, keys) => {
      await using place = await under.table(columns, keys)
      const walk = await walkOf(place)
      const last = await place.target.check.last(walk, undefined)
      expect(last === null).toBe(keys.length === 0)
      const met: number[] = []
      let at: Key | null = null
      while (!sameKey(at, last)) {
        const { window, rows } = await next(place.target, walk, { lower: at, upper: last ?? [], size: 7 })
        met.push(rows)
        at = window.upper
      }
      expect(met.reduce((sum, rows) => sum + rows, 0)).toBe(keys.length)
      expect(met.slice(0, -1).every((rows) => rows === 7)).toBe(true)
    })

    test('end where they are to end, whatever rows come after it', async () => {
      await using bench = await under.open(20)
      const walk = await walkOf({ ...bench, table: 'walked' })
      const found = await next(bench.target, walk, { lower: ['4'], upper: ['9'], size: 100 })
      expect(found).toEqual({ window: { lower: ['4'], upper: ['9'] }, rows: 5 })
      expect(await next(bench.target, walk, { lower: ['20'], upper: ['99'], size: 7 })).toMatchObject({ rows: 0 })
    })

    test('tell the end of a batch, and when nothing is left of a walk', async () => {
      await using bench = await under.open(20)
      const walk = await walkOf({ ...bench, table: 'walked' })
      const cut = (from: number | null, end: Key | null | 'last row', size: number) =>
        bench.target.windows.cut(walk, {
          from: from === null ? null : [String(from)],
          end,
          size,
          limitMs: 10_000,
          reads: 'primary',
        })
      expect(await cut(null, ['20'], 7)).toEqual({ upper: ['7'], last: false })
      expect(await cut(14, ['20'], 7)).toEqual({ upper: ['20'], last: true })
      expect(await cut(13, ['20'], 7)).toEqual({ upper: ['20'], last: true })
      expect(await cut(20, ['20'], 7)).toBe('nothing left')
      expect(await cut(14, 'last row', 3)).toEqual({ upper: ['17'], last: false })
      expect(await cut(20, 'last row', 3)).toBe('nothing left')
    })

    test('count rows in scope', async () => {
      await using bench = await under.open(20)
      const work = await workOf(bench, 'in a transaction', { scope: () => sql`id > 15` })
      const rest = { lower: null, upper: ['20'] }
      const looks = { rest, known: undefined, further: undefined }
      expect(await bench.target.windows.look(work, { ...looks, size: 10 })).toMatchObject({
        found: 0,
        next: { rows: 10 },
      })
      expect(await bench.target.windows.look(work, { ...looks, size: 'all' })).toMatchObject({
        found: 5,
        next: { rows: 20 },
      })
    })
  })

  describe.each(forms)(`${name} commits %s`, (form) => {
    const changes = form === 'outside' ? 0 : 50
    const done = { changed: changes, times: Math.min(changes, 1), rowsMatched: 50, rowsChanged: 50, ...some(50) }

    test('rows together with their checkpoint and counters', async () => {
      await using bench = await under.open(100)
      const outcome = await commit(bench, await workOf(bench, form), stretch(50))
      expect(outcome).toMatchObject({ kind: 'committed', at: ['50'], rowsSeen: 50, rowsMatched: 50, rowsChanged: 50 })
      expect(outcome).toMatchObject({ rest: false, limits: { pace: 1 } })
      expect(await bench.peek()).toEqual({ ...none, ...done })
    })

    test('and knows the window after it', async () => {
      await using bench = await under.open(100)
      const outcome = await commit(bench, await workOf(bench, form), stretch(30))
      expect(outcome).toMatchObject({ next: { window: { lower: ['30'], upper: ['60'] }, rows: 30 } })
    })

    test.each<[Threat, Outcome<object>['kind']]>([
      ['taken over', 'lost'],
      ['moved', 'moved'],
      ['paused', 'stop'],
      ['cancelled', 'stop'],
      ['disabled', 'stop'],
      ['frozen', 'stop'],
    ])('nothing when the claim or its operation is %s', async (threat, kind) => {
      await using bench = await under.open(100)
      const work = await workOf(bench, form, { calls: 'refused' })
      await bench.threaten(threat)
      expect(await commit(bench, work, stretch(50))).toEqual({ kind })
      expect(await bench.peek()).toMatchObject({ changed: 0, rowsSeen: 0, subBatches: 0 })
    })

    test('nothing when the hours of the operation are over, although they were set meanwhile', async () => {
      await using bench = await under.open(100)
      const work = await workOf(bench, form, { isOpen: (hours) => hours === null, calls: 'refused' })
      await bench.setHours('02:00-03:00')
      expect(await commit(bench, work, stretch(50))).toEqual({ kind: 'closed' })
      expect(await bench.peek()).toEqual(none)
    })

    test('nothing when the work fails', async () => {
      await using bench = await under.open(100)
      const work = await workOf(bench, form, { change: sql`n = 1 / (id - 7)`, calls: 'fails' })
      const outcome = await commit(bench, work, stretch(50))
      expect(outcome.kind).toBe('failed')
      expect(await bench.peek()).toEqual(none)
      expect(outcome.kind === 'failed' && bench.target.classify(outcome.error)).toBe('rows')
    })

    test('once, when the answer to the commit is lost: the claim tells that it has taken effect', async () => {
      await using bench = await under.open(100)
      const work = await workOf(bench, form)
      await bench.loseAnswer(form)
      const outcome = await commit(bench, work, stretch(50))
      expect(outcome.kind === 'failed' && bench.target.classify(outcome.error)).toBe('connection')
      expect(await bench.target.where(bench.claim)).toMatchObject({ checkpoint: ['50'] })
      expect(await commit(bench, await workOf(bench, form, { calls: 'refused' }), stretch(50))).toEqual({
        kind: 'moved',
      })
      expect(await bench.peek()).toEqual({ ...none, ...done })
    })
  })

  test.runIf(can.strides)(`${name} moves the checkpoint with the last stride`, async () => {
    await using bench = await under.open(100)
    const work = await workOf(bench, 'in a transaction')
    const outcome = await commit(bench, work, { ...stretch(100), stride: { of: 2, at: 0 } })
    expect(outcome).toMatchObject({ kind: 'committed', at: null, rowsSeen: 0, rest: true, next: { stride: { at: 1 } } })
    expect(await bench.peek()).toMatchObject({ checkpoint: null, rowsSeen: 0 })
  })

  test(`${name} knows nothing of a claim that is lost`, async () => {
    await using bench = await under.open(10)
    expect(await bench.target.where(bench.claim)).toMatchObject({ checkpoint: null })
    await bench.threaten('taken over')
    expect(await bench.target.where(bench.claim)).toBeUndefined()
  })

  describe.each(['passes over rows', 'sets rows aside'])(`${name} %s`, (what) => {
    const attempt = async (bench: TargetBench): Promise<Outcome<object>> => {
      const work = await workOf(bench, 'in a transaction')
      if (what === 'passes over rows') return bench.target.passOver(work, { ...stretch(50), began: performance.now() })
      return bench.target.quarantine(work, { ...stretch(50), error, fingerprint: 'the same' })
    }

    test('and moves the checkpoint, changing none', async () => {
      await using bench = await under.open(100)
      expect(await attempt(bench)).toMatchObject({ kind: 'committed' })
      const counted =
        what === 'passes over rows' ? { subBatches: 1 } : { quarantined: 50, rowsMatched: 50, subBatches: 0 }
      expect(await bench.peek()).toEqual({ ...none, ...some(50), ...counted })
    })

    test.each<[Threat, Outcome<object>['kind']]>([
      ['taken over', 'lost'],
      ['moved', 'moved'],
      ['paused', 'stop'],
      ['disabled', 'stop'],
      ['frozen', 'stop'],
    ])('unless the claim or its operation is %s', async (threat, kind) => {
      await using bench = await under.open(100)
      await bench.threaten(threat)
      expect(await attempt(bench)).toEqual({ kind })
      expect(await bench.peek()).toMatchObject({ changed: 0, rowsSeen: 0, subBatches: 0, quarantined: 0 })
    })
  })

  test(`${name} leaves rows in quarantine out of a second pass`, async () => {
    await using bench = await under.open(100)
    const work = await workOf(bench, 'in a transaction')
    const row = { window: { lower: null, upper: ['1'] }, rows: 1 }
    await bench.target.quarantine(work, { ...row, error, fingerprint: 'the same' })
    const { quarantined } = await bench.target.enter(await factsOf(bench, 'in a transaction', { pass: 2 }))
    expect(quarantined).toEqual([row.window])
  })

  test.each(Object.entries(under.errors))(`${name} knows an error of the class %s`, async (kind, given) => {
    await using bench = await under.open(1)
    expect(bench.target.classify(given)).toBe(kind)
  })
}
