import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineOperation, expire, Sluice, sql, type SluiceError } from '../../src/index.ts'

const perform = async (): Promise<void> => undefined
const good = { name: 'clean', table: 'events', perform }

function refusal(define: () => unknown): SluiceError {
  try {
    define()
  } catch (error) {
    return error as SluiceError
  }
  throw new Error('it was accepted')
}

describe('a wrong definition is refused where it is written', () => {
  test.each([
    ['empty name', { ...good, name: '' }, 'name'],
    ['name with a space', { ...good, name: 'a b' }, 'name'],
    ['name with NUL', { ...good, name: 'a\0' }, 'name'],
    ['very long name', { ...good, name: 'x'.repeat(101) }, 'name'],
    ['SQL as name', { ...good, name: `'; drop table x` }, 'name'],
    ['empty table', { ...good, table: ' ' }, 'table'],
    ['NUL in table', { ...good, table: 'a\0b' }, 'table'],
    ['empty cursor', { ...good, cursor: [] }, 'cursor'],
    ['cursor twice', { ...good, cursor: ['id', 'id'] }, 'cursor'],
    ['NUL in cursor', { ...good, cursor: ['id\0'] }, 'cursor'],
    ['no perform', { name: 'clean', table: 'events' }, 'perform'],
    ['scope as text', { ...good, scope: 'state = 1' }, 'scope'],
    ['no rows per batch', { ...good, batchSize: 0 }, 'batchSize'],
    ['half a row', { ...good, subBatchSize: 0.5 }, 'subBatchSize'],
    ['endless lanes', { ...good, lanes: Infinity }, 'lanes'],
    ['unknown option', { ...good, subBatchsize: 5 }, 'Did you mean "subBatchSize"?'],
  ])('%s', (_, spec, said) => {
    const error = refusal(() => defineOperation(spec as never))
    expect(error.code).toBe('DEFINITION_INVALID')
    expect(error.message).toContain(said)
  })

  test.each(['90', '90days', 'ninety days', '-1 days', '1 day; drop table x', '1 fortnight'])(
    'the age "%s"',
    (olderThan) => {
      const spec = { name: 'old', table: 'events', by: 'created_at', olderThan }
      expect(refusal(() => expire(spec as never)).code).toBe('DEFINITION_INVALID')
    },
  )
})

test('two definitions with one name are refused', () => {
  const twice = [defineOperation(good), defineOperation({ ...good, table: 'other' })]
  expect(refusal(() => new Sluice({ operations: twice })).code).toBe('DEFINITION_DUPLICATE')
})

test('args reach scope and perform as the schema gives them out', async () => {
  const operation = defineOperation({
    name: 'typed',
    table: 'todos',
    args: z.object({ userId: z.number().int(), until: z.coerce.date() }),
    scope: ({ args }) => sql`user_id = ${args.userId} and updated_at < ${args.until}`,
    perform,
  })
  const bound = await operation.bind({ userId: 7, until: '2026-01-01T00:00:00.000Z' })
  expect(bound.scope('2026-02-01T00:00:00Z')?.values).toEqual([7, new Date('2026-01-01')])
})

describe('a wrong configuration is refused', () => {
  test.each([
    [{ databse: 'x' }, 'Did you mean "database"?'],
    [{ worker: { leese: '5s' } }, 'Did you mean "lease"?'],
    [{ worker: { lease: 'soon' } }, '"worker.lease" must be a time'],
    [{ worker: { lease: '10ms' } }, 'at least 1000 ms'],
    [{ worker: { concurrency: 0 } }, 'whole number'],
    [{ database: 'mysql://u:s3cret@h/d' }, 'postgres://'],
    [{ database: 'postgres://u:s3cret@h:99999/d' }, 'host, port or escapes are wrong'],
    [{ database: 'postgres://u:s3cret@[::1/d' }, 'host, port or escapes are wrong'],
    [{ replica: 'postgres://u:s3cret@h/d?sslrootcert=/not/there.pem' }, 'names a file that cannot be read'],
    [{ governor: { every: '2 days' } }, 'at most 1 d'],
    [{ worker: { jobs: { quues: ['a'] } } }, 'Did you mean "queues"?'],
    [{ schema: 'Bad Name' }, 'lower-case'],
    [{ schema: 'a"; drop schema public; --' }, 'lower-case'],
    [{ timeouts: 5 }, 'must be an object'],
  ])('%o', (config, said) => {
    const error = refusal(() => new Sluice(config as never))
    expect(error.code).toBe('CONFIG_INVALID')
    expect(error.message).toContain(said)
    expect(error.message).not.toContain('s3cret')
  })
})
