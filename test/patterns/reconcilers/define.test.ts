import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, defineReconciler, Sluice, sql } from '../../../src/index.ts'

const args = z.object({ id: z.number() })
const perform = (): void => undefined
const good = {
  name: 'pending-records',
  find: { table: 'records', where: sql`state = 'pending'`, olderThan: '2m', by: 'changed_at' },
  job: defineJob({ name: 'finish', args, unique: {}, perform }),
  args: (row: Record<string, unknown>) => ({ id: Number(row['id']) }),
} as const
const { find } = good

test.each([
  ['a job that is not unique', { job: defineJob({ name: 'plain', args, perform }) }, 'must be unique'],
  ['no name', { name: '' }, 'its name must'],
  ['an unknown option', { evry: '1m' }, 'Did you mean "every"?'],
  ['an unknown option of find', { find: { ...find, olderthan: '1m' } }, 'Did you mean "olderThan"?'],
  ['a condition as text', { find: { ...find, where: 'true' } }, '"find.where"'],
  ['no column for the age', { find: { table: 'records', where: sql`true`, olderThan: '1m' } }, '"find.by"'],
  ['no find', { find: null }, '"find" must be a select'],
  ['a bad interval', { every: 'often' }, '"every"'],
  ['a bad spread', { jitter: 'some' }, '"jitter"'],
  ['a bad limit', { limit: 0 }, '"limit"'],
  ['a bad key', { key: '' }, '"key"'],
  ['no args', { args: { id: 1 } }, '"args"'],
  ['no job', { job: 'finish' }, '"job"'],
])('%s is refused', (_, wrong, complaint) => {
  expect(() => defineReconciler({ ...good, ...(wrong as object) })).toThrow(
    expect.objectContaining({ code: 'DEFINITION_INVALID', message: expect.stringContaining(complaint) }),
  )
})

test('two of one name are refused', () => {
  const reconcilers = [defineReconciler(good), defineReconciler(good)]
  expect(() => new Sluice({ reconcilers })).toThrow(expect.objectContaining({ code: 'DEFINITION_DUPLICATE' }))
})
