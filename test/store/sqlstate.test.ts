import { describe, expect, test } from 'vitest'
import { SluiceError } from '../../src/errors.ts'
import { classify, isUnreachable, unreachable } from '../../src/store/sqlstate.ts'

const server = (code: string): Error => Object.assign(new Error(code), { code, severity: 'ERROR' })
const network = (code: string): Error => Object.assign(new Error(code), { code })

describe('an error asks for', () => {
  test.each([
    ['57014', 'retry'],
    ['55P03', 'retry'],
    ['40001', 'retry'],
    ['40P01', 'retry'],
    ['08006', 'connection'],
    ['08P01', 'connection'],
    ['57P01', 'connection'],
    ['57P02', 'connection'],
    ['57P03', 'connection'],
    ['25P03', 'connection'],
    ['53100', 'hold'],
    ['53200', 'hold'],
    ['53300', 'hold'],
    ['25006', 'hold'],
    ['58030', 'hold'],
    ['42P01', 'fatal'],
    ['42703', 'fatal'],
    ['42501', 'fatal'],
    ['42601', 'fatal'],
    ['23505', 'rows'],
    ['28P01', 'connection'],
    ['3D000', 'connection'],
    ['23503', 'rows'],
    ['22P02', 'rows'],
    ['22012', 'rows'],
    ['P0001', 'rows'],
    ['XX000', 'rows'],
  ])('%s: %s', (code, expected) => expect(classify(server(code))).toBe(expected))

  test.each([
    [network('ECONNREFUSED'), 'connection'],
    [network('ECONNRESET'), 'connection'],
    [network('EPIPE'), 'connection'],
    [new Error('Connection terminated unexpectedly'), 'connection'],
    [new Error('timeout exceeded when trying to connect'), 'connection'],
    [new SluiceError('DATABASE_TIMEOUT', { message: 'late' }), 'connection'],
    [new SluiceError('PERMISSION_DENIED', { message: 'no', cause: server('42501') }), 'fatal'],
    [new SluiceError('ARGS_INVALID', { message: 'no' }), 'fatal'],
    [new TypeError('x is undefined'), 'rows'],
    ['a thrown text', 'rows'],
    [undefined, 'rows'],
    // What the server said counts inside of a wrapper, too; a socket in there may be that of any other server.
    [new Error('Failed query', { cause: server('40P01') }), 'retry'],
    [new TypeError('fetch failed', { cause: network('ECONNREFUSED') }), 'rows'],
    // A user's error with a code of five letters is not one of the server's.
    [network('EMAIL'), 'rows'],
  ])('%s: %s', (error, expected) => expect(classify(error)).toBe(expected))
})

test('an unreachable database is told from an error of the statement', () => {
  expect([network('ENOTFOUND'), server('3D000'), server('28P01'), server('53300')].every(isUnreachable)).toBe(true)
  expect([server('42P01'), server('40001'), new Error('else')].some(isUnreachable)).toBe(false)
  const several = new AggregateError([
    new Error('connect ECONNREFUSED ::1'),
    new Error('connect ECONNREFUSED 127.0.0.1'),
  ])
  expect(unreachable(several).message).toContain('ECONNREFUSED 127.0.0.1')
})
