import { expect, test } from 'vitest'
import { again, defineMachine } from '../../../src/index.ts'

const perform = async (): Promise<void> => undefined
const good = { name: 'orders', table: 'orders', states: { pending: { to: 'paid', perform }, paid: {} } } as const
const { states } = good

test.each([
  ['no name', { name: 'a b' }, 'its name must'],
  ['an unknown option', { stukAfter: '1m' }, 'Did you mean "stuckAfter"?'],
  ['no table', { table: ' ' }, '"table" must be'],
  ['a column without a name', { changedAt: '' }, '"changedAt" must be'],
  ['no patience', { stuckAfter: '1ms' }, '"stuckAfter" must be'],
  ['one state', { states: { paid: {} } }, 'two states'],
  ['final states alone', { states: { pending: {}, paid: {} } }, 'no state has a way on'],
  ['a state of an odd name', { states: { ...states, 'a b': {} } }, 'the state "a b"'],
  ['a state that is none', { states: { ...states, sent: null } }, 'the state "sent"'],
  ['an unknown option of a state', { states: { ...states, sent: { too: 'x' } } }, 'Did you mean "to"?'],
  ['work without a way on', { states: { ...states, sent: { perform } } }, 'no way on'],
  ['a way on without work', { states: { ...states, sent: { to: 'paid' } } }, 'no work'],
  ['a way to nowhere', { states: { ...states, sent: { to: 'payd', perform } } }, 'Did you mean "paid"?'],
  ['a way to itself', { states: { ...states, sent: { to: ['sent'], perform } } }, 'again()'],
  ['no way at all', { states: { ...states, sent: { to: [], perform } } }, 'is empty'],
  ['a bad delay', { states: { ...states, sent: { to: 'paid', perform, delay: 'soon' } } }, '"delay" of the state'],
  ['a bad timeout', { states: { ...states, sent: { to: 'paid', perform, timeout: 'soon' } } }, '"timeout"'],
])('%s is refused', (_, wrong, complaint) => {
  expect(() => defineMachine({ ...good, ...(wrong as object) })).toThrow(
    expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringContaining(complaint) }),
  )
})

test('again takes a time', () => {
  expect(again({ in: '30m' }).delayMs).toBe(1_800_000)
  expect(again().delayMs).toBeUndefined()
  expect(() => again({ in: 'soon' as '1m' })).toThrow(TypeError)
})
