import { expect, test } from 'vitest'
import { Sluice } from '../../../src/index.ts'
import { lockAlerts, noteTold, saveAlerts, takeUntold, type Alert } from '../../../src/store/alerts.ts'
import { onConnection, type StoreConnection } from '../../../src/store/connection.ts'
import { onClient, asConnection, testDatabase, type TestDatabase } from '../../support/database.ts'
import { openClient } from '../../support/jobs.ts'
import { isWaiting } from '../../support/locks.ts'
import { until } from '../../support/wait.ts'

const about = {
  rule: 'queue-depth',
  subject: 'mail',
  severity: 'warning',
  message: 'deep',
  value: 9,
  threshold: 5,
} as const

/** Writes down where the rule stands, as one who judges does; gives what there is to tell. */
const save = (connection: StoreConnection, firing: boolean): Promise<Alert[]> =>
  saveAlerts(connection, { standings: [{ ...about, firing, streak: 0 }] })

async function place(): Promise<{ db: TestDatabase; connection: StoreConnection } & AsyncDisposable> {
  const db = await testDatabase()
  const connection = onConnection(asConnection(db), 'sluice')
  return { db, connection, [Symbol.asyncDispose]: () => db[Symbol.asyncDispose]() }
}

test('a change of an alert is told by the one who makes it, once', async () => {
  await using at = await place()
  expect(await save(at.connection, true)).toMatchObject([{ rule: 'queue-depth', firing: true }])
  expect(await save(at.connection, true)).toEqual([])
  expect(await save(at.connection, false)).toMatchObject([{ firing: false }])
  expect(await save(at.connection, false)).toEqual([])
})

test('nobody judges while another process judges', async () => {
  await using at = await place()
  await using sluice = new Sluice({ database: at.db.workerUrl, alerts: { queues: { all: { wait: '1s' } } } })
  await at.db.query(`select sluice.enqueue('[{"job":"a","queue":"mail","args":{}}]', false, false)`)
  await at.db.query(`update sluice.job set run_at = now() - interval '1 hour'`)
  await using other = await openClient(at.db.workerUrl)
  await other.query('begin')
  expect(await lockAlerts(onClient(other))).toEqual([{ locked: true }])
  await sluice.alerts.check()
  expect(await at.db.value('select count(*)::int from sluice.alert')).toBe(0)
  await other.query('commit')
  await sluice.alerts.check()
  expect(await at.db.value('select count(*)::int from sluice.alert')).toBeGreaterThan(0)
})

test('an alert that somebody tells of is not told by another within the minute', async () => {
  await using at = await place()
  await save(at.connection, true)
  expect(await takeUntold(at.connection)).toMatchObject([{ firing: true }])
  // However slow this machine is, the minute is not over.
  await at.db.query(`update sluice.alert set telling_at = telling_at + interval '1 hour'`)
  expect(await takeUntold(at.connection)).toEqual([])
  await at.db.query(
    `update sluice.alert set telling_at = now() - interval '2 minutes', changed_at = now() - interval '1 hour'`,
  )
  const [again] = await takeUntold(at.connection)
  await noteTold(at.connection, again as Alert)
  await at.db.query(`update sluice.alert set telling_at = telling_at - interval '2 minutes'`)
  expect(await takeUntold(at.connection)).toEqual([])
})

test('an alert that two processes want to tell of at the same moment goes to one of them', async () => {
  await using at = await place()
  await save(at.connection, true)
  await using other = await openClient(at.db.workerUrl)
  await other.query('begin')
  expect(await takeUntold(onClient(other))).toHaveLength(1)
  let answered = false
  const second = takeUntold(at.connection).finally(() => (answered = true))
  await until('the second waits or has its answer', async () => answered || isWaiting(at.db))
  await other.query('commit')
  expect(await second).toEqual([])
})

test('the end of an alert is told although its beginning is noted as told only later', async () => {
  await using at = await place()
  await save(at.connection, true)
  const [began] = await takeUntold(at.connection)
  // The moments of both changes must differ in what the driver keeps of them.
  await at.db.query(`update sluice.alert set changed_at = changed_at - interval '1 second'`)
  const since = await at.db.value<Date>('select changed_at from sluice.alert')
  await save(at.connection, false)
  await noteTold(at.connection, { ...(began as Alert), since })
  expect(await takeUntold(at.connection)).toMatchObject([{ firing: false }])
})
