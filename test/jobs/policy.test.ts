import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  DeadlockDetected,
  defineJob,
  discardOn,
  exponential,
  polynomial,
  retryOn,
  snooze,
  type WaitPolicy,
} from '../../src/index.ts'
import { delayOf, judge } from '../../src/jobs/policy.ts'

class Refused extends Error {}
class RefusedForever extends Refused {}
class Gone extends Error {}

const fail = (error: unknown, tries: Record<string, number> = {}, random = 0.5) => ({ error, tries, random })
const exact = { jitter: 0 }
const refusedBy = (code: string): Error => Object.assign(new Error(`connect ${code}`), { code })

describe('the verdict on a failed attempt', () => {
  const onError = [
    discardOn(RefusedForever, Gone),
    retryOn(Refused, { attempts: 3, wait: exponential({ base: '2s', ...exact }) }),
    retryOn('ECONNRESET', 'TimeoutError', { attempts: 2, wait: '30s' }),
    retryOn((error) => error === 'plain text', { wait: (attempt) => attempt * 7 }),
  ]
  const policy = { onError, retry: { attempts: 2, wait: polynomial({ base: '1s', power: 2, ...exact }) } }
  const named = Object.assign(new Error('late'), { name: 'TimeoutError' })
  const coded = Object.assign(new Error('cut'), { code: 'ECONNRESET' })

  test.each([
    [
      'the first rule that matches',
      new RefusedForever(),
      {},
      { kind: 'discarded', reason: 'discarded on RefusedForever, Gone' },
    ],
    [
      'a later one',
      new Refused(),
      {},
      { kind: 'retry', delayMs: 2_000, reason: 'failure 1 of 3 on Refused', tries: { Refused: 1 } },
    ],
    [
      'with its own count',
      new Refused(),
      { Refused: 1, 'any error': 9 },
      { kind: 'retry', delayMs: 4_000, reason: 'failure 2 of 3 on Refused', tries: { Refused: 2, 'any error': 9 } },
    ],
    [
      'up to its last attempt',
      new Refused(),
      { Refused: 2 },
      { kind: 'dead', reason: 'failed 3 of 3 times on Refused' },
    ],
    [
      'by name',
      named,
      {},
      {
        kind: 'retry',
        delayMs: 30_000,
        reason: 'failure 1 of 2 on ECONNRESET, TimeoutError',
        tries: { 'ECONNRESET, TimeoutError': 1 },
      },
    ],
    [
      'by code',
      coded,
      { 'ECONNRESET, TimeoutError': 1 },
      { kind: 'dead', reason: 'failed 2 of 2 times on ECONNRESET, TimeoutError' },
    ],
    [
      'by a function, and the wait by one',
      'plain text',
      { 'a function': 2 },
      { kind: 'retry', delayMs: 21, reason: 'failure 3 of 10 on a function', tries: { 'a function': 3 } },
    ],
    [
      'or what the job says of any error',
      new Error('?'),
      {},
      { kind: 'retry', delayMs: 2_000, reason: 'failure 1 of 2 on any error', tries: { 'any error': 1 } },
    ],
    ['to its end', undefined, { 'any error': 1 }, { kind: 'dead', reason: 'failed 2 of 2 times on any error' }],
  ] as const)('is by %s', (_, error, tries, verdict) => {
    expect(judge(policy, fail(error, { ...tries }))).toEqual(verdict)
  })

  test('without retry what no rule matches is dead at once, and rules still hold', () => {
    const strict = { onError, retry: false } as const
    expect(judge(strict, fail(new Error('?')))).toEqual({ kind: 'dead', reason: 'the job is not retried' })
    expect(judge(strict, fail(new Refused()))).toMatchObject({ kind: 'retry' })
    expect(judge(strict, fail(new Gone()))).toMatchObject({ kind: 'discarded' })
  })

  test('knows a deadlock by its code, and by nothing else', () => {
    const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01', severity: 'ERROR' })
    const rules = { onError: [retryOn(DeadlockDetected, { attempts: 5 })], retry: false } as const
    expect(judge(rules, fail(deadlock))).toMatchObject({ kind: 'retry', tries: { DeadlockDetected: 1 } })
    expect(judge(rules, fail(new Error('deadlock detected')))).toMatchObject({ kind: 'dead' })
  })
})

describe('for any policy', () => {
  const errors = [new Refused(), new RefusedForever(), new Gone(), new Error('x'), 'text', undefined] as const
  const matches = [Refused, RefusedForever, Gone, Error, 'Error', (e: unknown) => e === 'text'] as const
  const anyRule = fc
    .record({ which: fc.nat(5), discard: fc.boolean(), attempts: fc.integer({ min: 1, max: 20 }) })
    .map(({ which, discard, attempts }) => {
      const match = matches[which] ?? Error
      return discard ? discardOn(match) : retryOn(match, { attempts, wait: '1s' })
    })
  const anyPolicy = fc.record({
    onError: fc.array(anyRule, { maxLength: 6 }),
    retry: fc.oneof(fc.constant(false as const), fc.record({ attempts: fc.integer({ min: 1, max: 20 }) })),
  })
  const anyError = fc.constantFrom(...errors)

  test('rules behind the first that matches change nothing', () => {
    fc.assert(
      fc.property(anyPolicy, anyError, fc.array(anyRule), ({ onError, retry }, error, more) => {
        fc.pre(onError.some((rule) => rule.matches(error)))
        expect(judge({ onError: [...onError, ...more], retry }, fail(error))).toEqual(
          judge({ onError, retry }, fail(error)),
        )
      }),
    )
  })

  test('a job that always fails alike ends after exactly as many attempts as its rule allows', () => {
    fc.assert(
      fc.property(anyPolicy, anyError, (policy, error) => {
        const rule = policy.onError.find((candidate) => candidate.matches(error))
        const allowed =
          rule === undefined
            ? policy.retry === false
              ? 1
              : policy.retry.attempts
            : rule.kind === 'discard'
              ? 1
              : rule.attempts
        let tries: Record<string, number> = {}
        for (let attempt = 1; ; attempt++) {
          const verdict = judge(policy, fail(error, tries))
          if (verdict.kind !== 'retry') {
            expect(attempt).toBe(allowed)
            return
          }
          tries = verdict.tries
        }
      }),
    )
  })

  test('failures by one rule leave the counts of others alone', () => {
    fc.assert(
      fc.property(anyPolicy, anyError, fc.dictionary(fc.string(), fc.nat(5)), (policy, error, others) => {
        const verdict = judge(policy, fail(error, { ...others }))
        if (verdict.kind !== 'retry') return
        const changed = Object.keys(verdict.tries).filter((rule) => verdict.tries[rule] !== others[rule])
        expect(changed).toHaveLength(1)
      }),
    )
  })

  test('a wait is within its jitter, grows, and stays below its limit', () => {
    const settings = fc.record({
      base: fc.integer({ min: 1, max: 60_000 }),
      max: fc.integer({ min: 60_000, max: 86_400_000 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    })
    const random = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(settings, fc.nat(2_000), random, fc.boolean(), (given, earlier, chance, powers) => {
        const attempt = earlier + 1
        const wait = powers ? polynomial(given) : exponential(given)
        const plain = wait.delayMs(attempt)
        expect(plain).toBeLessThanOrEqual(given.max)
        expect(wait.delayMs(attempt + 1)).toBeGreaterThanOrEqual(plain)
        const delayMs = delayOf(wait, { attempt, error: undefined, random: chance })
        expect(Number.isSafeInteger(delayMs)).toBe(true)
        expect(delayMs).toBeGreaterThanOrEqual(Math.floor(plain * (1 - given.jitter)))
        expect(delayMs).toBeLessThanOrEqual(Math.ceil(plain * (1 + given.jitter)))
      }),
    )
  })
})

const first = (policy: WaitPolicy): number[] => [1, 2, 3, 4].map((n) => policy.delayMs(n))

test('waits are those that the documentation shows', () => {
  expect(first(exponential({ base: '2s' }))).toEqual([2_000, 4_000, 8_000, 16_000])
  expect(first(polynomial({ base: '2s' }))).toEqual([3_000, 18_000, 83_000, 258_000])
  expect(exponential().delayMs(500)).toBe(3_600_000)
  const spread = [0, 0.5, 1].map((random) => delayOf('10s', { attempt: 1, error: undefined, random }))
  expect(spread).toEqual([8_500, 10_000, 11_500])
})

const perform = (): undefined => undefined

describe('is refused when it is defined', () => {
  test.each([
    ['a rule for nothing', () => retryOn({}), 'takes error classes'],
    ['a rule for a number', () => discardOn(5 as never), 'takes error classes'],
    ['no attempt at all', () => retryOn(Error, { attempts: 0 }), '"attempts" must be'],
    ['a wait that is none', () => retryOn(Error, { wait: 'soon' as never }), '"wait" must be a time'],
    ['a base that is none', () => exponential({ base: 'soon' as never }), '"base" must be a time'],
    ['jitter above 1', () => polynomial({ jitter: 2 }), '"jitter" must be from 0 to 1'],
    ['a snooze without a time', () => snooze('later' as never), 'snooze takes a time'],
    [
      'a policy that is no list',
      () => defineJob({ name: 'a', onError: {} as never, perform }),
      '"onError" must be a list',
    ],
    ['a timeout of nothing', () => defineJob({ name: 'a', timeout: 0, perform }), '"timeout" must be a time'],
    [
      'a limit of 0',
      () => defineJob({ name: 'a', concurrency: { limit: 0, key: () => 'k' }, perform }),
      '"concurrency.limit" must be',
    ],
    [
      'an unknown option',
      () => defineJob({ name: 'a', ...({ retrys: 1 } as object), perform }),
      'there is no option "retrys". Did you mean "retry"?',
    ],
    ['a name with a space', () => defineJob({ name: 'a b', perform }), 'its name must start with a letter'],
  ])('%s', (_, define, message) => expect(define).toThrow(message))
})

describe('what an error comes from', () => {
  const fetchFailed = new TypeError('fetch failed', {
    cause: new AggregateError([refusedBy('ETIMEDOUT'), refusedBy('ECONNREFUSED')], ''),
  })
  const deadlock = Object.assign(new Error('deadlock detected'), { code: '40P01', severity: 'ERROR' })
  const wrapped = new Error('Failed query', { cause: new Error('driver', { cause: deadlock }) })
  const gone = new Error('sync failed', { cause: new Gone('who?') })

  test.each([
    ['the code of an error that fetch wraps twice', retryOn('ECONNREFUSED', {}), fetchFailed],
    ['the class of a cause', discardOn(Gone), gone],
    ['a deadlock that a library has wrapped', retryOn(DeadlockDetected, {}), wrapped],
    ['the name of one of many', discardOn('AggregateError'), fetchFailed],
  ])('%s is matched', (_, rule, error) => {
    expect(rule.matches(error)).toBe(true)
  })

  test('a function decides about what was thrown, and nothing else', () => {
    const seen: unknown[] = []
    expect(discardOn((error) => (seen.push(error), false)).matches(fetchFailed)).toBe(false)
    expect(seen).toEqual([fetchFailed])
  })

  test('the first rule that matches any of them decides', () => {
    const onError = [retryOn('ECONNREFUSED', { attempts: 4 }), discardOn(TypeError)]
    expect(judge({ onError, retry: false }, fail(fetchFailed))).toMatchObject({
      kind: 'retry',
      reason: 'failure 1 of 4 on ECONNREFUSED',
    })
  })

  test('an error that is its own cause, or has endless ones, matches no rule by that', () => {
    const circle = new Error('a')
    circle.cause = new Error('b', { cause: circle })
    let endless = new Error('last')
    for (let n = 0; n < 10_000; n++) endless = new Error(`${n}`, { cause: endless })
    const many = new AggregateError(Array.from({ length: 10_000 }, () => endless))
    for (const error of [circle, endless, many]) expect(discardOn('Nothing').matches(error)).toBe(false)
  })
})
