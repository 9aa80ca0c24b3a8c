import { expect, test } from 'vitest'
import { defineOperation, Sluice } from '../../../src/index.ts'
import { prometheus } from '../../../src/observe/metrics/index.ts'
import { until } from '../../support/wait.ts'
import { counters, working } from '../../support/working.ts'

test('an operation that fails raises an alert and a metric, until it is taken up again', async () => {
  await using db = await counters(10)
  let works = false
  const fragile = defineOperation({
    name: 'fragile',
    table: 'counters',
    async perform({ batch }) {
      if (!works) await db.query('select no_such_column from counters')
      return (await batch.rows()).length
    },
  })
  const { sluice, events } = working(db, [fragile])
  await using _ = sluice
  const metrics = prometheus(sluice)
  await sluice.start()
  const { id } = await sluice.operations.start(fragile)
  await events.event('operation.failed')
  expect(await metrics.text()).toContain('sluice_operations_failed_total{operation="fragile"} 1')

  await using watching = new Sluice({ database: db.workerUrl })
  /** A look is left out while the worker judges, so what counts is what comes of some looks, not of how many. */
  const firing = async (count: number): Promise<object[]> => {
    await until(`${count} alerts fire`, async () => {
      await watching.alerts.judge()
      return (await watching.alerts.list()).length === count
    })
    return (await watching.alerts.list()).map(({ rule, subject, severity, message }) => ({
      rule,
      subject,
      severity,
      message,
    }))
  }
  const message = 'fragile has failed: column "no_such_column" does not exist'
  expect(await firing(1)).toEqual([
    { rule: 'operation-failed', subject: `fragile ${id}`, severity: 'critical', message },
  ])
  works = true
  await sluice.operations.retry(id)
  await firing(0)
  await events.event('operation.finished')
  await firing(0)
})
