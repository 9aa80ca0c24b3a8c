import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { writingBehind } from '../../src/operations/write-behind.ts'
import type { StoreConnection } from '../../src/store/connection.ts'
import { openDatabase } from '../../src/store/database.ts'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'

const timeouts = { statementMs: 10_000, lockMs: 2_000, idleInTransactionMs: 10_000 }

test('a worker may have the log written, again and again while work lasts', async () => {
  await using db = await testDatabase()
  await using database = await openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 1, timeouts })
  let written = 0
  const counting: StoreConnection = {
    schema: 'sluice',
    query: async (text, values) => {
      const result = await database.control.query(text, values)
      written += 1
      return result
    },
  }
  const work = async (): Promise<string> => {
    await until('the log was written twice', () => written >= 2)
    return 'done'
  }
  expect(await writingBehind(counting, work)).toBe('done')
})

test('work that ends or fails is not kept, and what cannot be written is left to the commit', async () => {
  const broken: StoreConnection = { schema: 'sluice', query: () => Promise.reject(new Error('no connection')) }
  await expect(writingBehind(broken, () => Promise.reject(new Error('a bad row')))).rejects.toThrow('a bad row')
  expect(await writingBehind(broken, () => sleep(50, 'done'))).toBe('done')
})
