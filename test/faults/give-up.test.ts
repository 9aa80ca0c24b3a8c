// A worker that cannot renew its leases for long.
import { expect, test } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { setOddly } from '../support/odd-settings.ts'
import { patiently } from '../support/patience.ts'
import { spawnWorker, testProfile } from '../support/worker.ts'

const readOnly = { default_transaction_read_only: 'on' }
const cut = `select pg_terminate_backend(pid) from pg_stat_activity
  where datname = current_database() and application_name like 'sluice %'`
const worker = { ...testProfile.worker, giveUp: patiently(1_000) }

test('a worker process that cannot renew its leases for long exits with an error', async () => {
  await using db = await testDatabase()
  await using spawned = await spawnWorker({ url: db.workerUrl, profile: { ...testProfile, worker } })
  await spawned.events.event('worker.started')
  await setOddly(db, 'role', readOnly)
  await db.query(cut)
  expect(await spawned.exited).toBe(1)
  expect(spawned.stderr.join('\n')).toContain('Leases are not renewed any more')
})

test('inside of another process it waits for better times, unless it is told not to', async () => {
  await using db = await testDatabase()
  const [patient, impatient] = [testProfile, { ...testProfile, worker }].map((profile) => {
    const sluice = new Sluice({ ...profile, database: db.workerUrl })
    const events = new EventLog()
    sluice.onAny((event) => events.push(event))
    return { sluice, events, [Symbol.asyncDispose]: () => sluice.stop() }
  })
  if (patient === undefined || impatient === undefined) throw new Error('two were made')
  await using _patient = patient
  await using _impatient = impatient
  for (const { sluice } of [patient, impatient]) await sluice.start()
  await setOddly(db, 'role', readOnly)
  await db.query(cut)
  await impatient.events.event('worker.stopped')
  expect(patient.events.count('worker.stopped')).toBe(0)
  await setOddly(db, 'role', { default_transaction_read_only: 'off' })
  await patient.events.event('connection.restored')
})
