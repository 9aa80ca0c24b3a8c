import { CommanderError } from 'commander'
import { expect, test } from 'vitest'
import { Unconfirmed } from '../../src/cli/confirm.ts'
import { exitCodes, outcomeOf } from '../../src/cli/exit-codes.ts'
import { failureOf } from '../../src/cli/failure.ts'
import { Interrupted } from '../../src/cli/interrupt.ts'
import { SluiceError, type SluiceErrorCode } from '../../src/index.ts'

test('the exit codes are the documented ones', () => {
  expect(exitCodes).toEqual({
    done: 0,
    failed: 1,
    usage: 2,
    unreachable: 3,
    checkFailed: 4,
    unconfirmed: 5,
    refused: 6,
    SIGINT: 130,
    SIGTERM: 143,
  })
})

const expected: [SluiceErrorCode, number][] = [
  ['OPERATION_NOT_FOUND', 1],
  ['MIGRATION_BUSY', 1],
  ['PERMISSION_DENIED', 1],
  ['ARGS_INVALID', 2],
  ['CONFIG_INVALID', 2],
  ['DEFINITION_UNKNOWN', 2],
  ['DEFINITION_DUPLICATE', 2],
  ['DEFINITION_INVALID', 2],
  ['TABLE_NOT_FOUND', 2],
  ['DATABASE_UNREACHABLE', 3],
  ['DATABASE_TIMEOUT', 3],
  ['EMBEDDED_BROKEN', 3],
  ['SCHEMA_MISSING', 4],
  ['SCHEMA_BEHIND', 4],
  ['SCHEMA_AHEAD', 4],
  ['SCHEMA_FOREIGN', 4],
  ['OPERATION_STATE', 6],
  ['PLAN_SCANS', 6],
  ['ENQUEUE_INVALID', 2],
  ['JOB_NOT_FOUND', 1],
  ['JOB_STATE', 6],
  ['QUEUE_INVALID', 2],
  ['QUEUE_NOT_FOUND', 1],
  ['CURSOR_NOT_INDEXED', 6],
  ['CURSOR_NOT_UNIQUE', 6],
  ['EMBEDDED_FORBIDDEN', 6],
]

test.each(expected)('%s ends a command with %i', (code, exitCode) => {
  expect(failureOf(new SluiceError(code, { message: 'why' }))).toMatchObject({ code, exitCode, message: 'why' })
})

test('no error is told as done', () => {
  expect(Object.values(outcomeOf)).not.toContain('done')
})

test.each([
  [new Interrupted('SIGINT'), 130],
  [new Interrupted('SIGTERM'), 143],
  [new CommanderError(1, 'commander.unknownOption', 'error: unknown option'), 2],
  [new Unconfirmed('why'), 5],
  [new Error('boom'), 1],
  ['thrown text', 1],
  [undefined, 1],
])('%s is no error of Sluice and ends with %i', (thrown, exitCode) => {
  expect(failureOf(thrown).exitCode).toBe(exitCode)
})

test('an error of another copy of Sluice counts by its code, one with an unknown code as a failure', () => {
  expect(failureOf(foreign('SCHEMA_MISSING')).exitCode).toBe(4)
  expect(failureOf(foreign('TOO_NEW')).exitCode).toBe(1)
})

function foreign(code: string): Error {
  return Object.assign(new Error('why'), { name: 'SluiceError', code })
}
