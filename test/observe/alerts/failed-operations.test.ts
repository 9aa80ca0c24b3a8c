import { expect, test } from 'vitest'
import { defineOperation, Sluice } from '../../../src/index.ts'
import { prometheus } from '../../../src/observe/metrics/index.ts'
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
  const first = working(db, [fragile])
  await using _first = first.sluice
  const metrics = prometheus(first.sluice)
  await first.sluice.start()
  const { id } = await first.sluice.operations.start(fragile)
  await first.events.event('operation.failed')
  expect(await metrics.text()).toContain('sluice_operations_failed_total{operation="fragile"} 1')
  // A worker judges, too, and while it does a look is left out.
  await first.sluice.stop()

  await using watching = new Sluice({ database: db.workerUrl })
  const firing = async (looks: number): Promise<object[]> => {
    for (let look = 0; look < looks; look++) await watching.alerts.judge()
    return (await watching.alerts.list()).map(({ rule, subject, severity, message }) => ({
      rule,
      subject,
      severity,
      message,
    }))
  }
  const message = 'fragile has failed: column "no_such_column" does not exist'
  expect(await firing(2)).toEqual([
    { rule: 'operation-failed', subject: `fragile ${id}`, severity: 'critical', message },
  ])
  works = true
  await watching.operations.retry(id)
  expect(await firing(6)).toEqual([])
  const second = working(db, [fragile])
  await using _second = second.sluice
  await second.sluice.start()
  await second.events.event('operation.finished')
  await second.sluice.stop()
  expect(await firing(2)).toEqual([])
})
