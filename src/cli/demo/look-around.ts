import { defineJob, defineOperation, defineSchedule, retryOn, Sluice, sql } from '../../index.ts'
import { loadConfig } from '../config-file.ts'
import { openDashboard } from '../dashboard/open.ts'
import type { Shell } from '../shell.ts'
import type { Place } from './place.ts'

/** Mostly quick, sometimes slow, now and then refused: something to look at. */
const chargeCard = defineJob({
  name: 'charge-card',
  queue: 'billing',
  onError: [retryOn(Error, { attempts: 2, wait: '1s' })],
  perform: async ({ job }) => {
    await pause(20 + (job.id % 7) * 30)
    if (job.id % 23 === 0) throw new Error(`card of order ${job.id} was declined`)
  },
})

const sendMail = defineJob({
  name: 'send-mail',
  queue: 'mail',
  perform: async ({ job }) => pause(5 + (job.id % 5) * 8),
})

const report = defineSchedule({ name: 'report', every: '1m', job: sendMail })

/** Slow on purpose: a walk over what is left, which changes nothing that matters. */
const touchEvents = defineOperation({
  name: 'touch-events',
  table: 'events',
  batchSize: 2_000,
  subBatchSize: 100,
  perform: async ({ batch }) => {
    await pause(60)
    return batch.update(sql`payload = payload`)
  },
})

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Works on in the database of the demo, with jobs that come and go, and shows it all in the dashboard until Ctrl-C. */
export async function lookAround(shell: Shell, { folder, configFile, url }: Place, port: number): Promise<void> {
  const { config } = await loadConfig(folder, configFile)
  const { operations = [] } = config
  const more = { jobs: [chargeCard, sendMail], schedules: [report], operations: [...operations, touchEvents] }
  await using sluice = new Sluice({ ...config, ...more, database: url })
  await sluice.start()
  await sluice.operations.start(touchEvents)
  const feeding = setInterval(() => void feed(sluice).catch(() => undefined), 1_000)
  try {
    await openDashboard(shell, sluice, { port, host: '127.0.0.1', environment: 'demo' })
  } finally {
    clearInterval(feeding)
  }
}

async function feed({ jobs }: Sluice): Promise<void> {
  await jobs.enqueueMany(chargeCard, Array.from({ length: 6 }))
  await jobs.enqueueMany(sendMail, Array.from({ length: 10 }))
}
