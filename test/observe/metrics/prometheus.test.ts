import { readFileSync } from 'node:fs'
import { Registry } from 'prom-client'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineJob, Sluice } from '../../../src/index.ts'
import { Labels } from '../../../src/observe/metrics/labels.ts'
import { prometheus } from '../../../src/observe/metrics/index.ts'
import { testDatabase } from '../../support/database.ts'
import { drained, jobWorker } from '../../support/jobs.ts'

const numbered = z.object({ n: z.number() })
const noop = defineJob({ name: 'noop', args: numbered, queue: 'mail', perform: () => undefined })
const doomed = defineJob({
  name: 'doomed',
  queue: 'mail',
  retry: false,
  perform() {
    throw new Error('no')
  },
})

test('counters follow events and gauges come from the database, in the registry of the user', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [noop, doomed])
  const register = new Registry()
  const metrics = prometheus(worker.sluice, { register })
  await worker.sluice.start()
  await worker.jobs.enqueueMany(noop, [{ n: 1 }, { n: 2 }])
  await worker.jobs.enqueue(doomed)
  await drained(db)
  await worker.events.event('job.died')
  await worker.events.event('job.finished', { nth: 2 })
  await worker.jobs.enqueue(noop, { n: 3 }, { queue: 'later', in: '1h' })
  const text = await (await metrics.fetch()).text()
  expect(text).toContain('sluice_jobs_enqueued_total{queue="mail",job="noop"} 2')
  expect(text).toContain('sluice_job_attempts_total{queue="mail",job="noop",outcome="succeeded"} 2')
  expect(text).toContain('sluice_job_attempts_total{queue="mail",job="doomed",outcome="dead"} 1')
  expect(text).toContain('sluice_job_wait_seconds_count{queue="mail"} 3')
  expect(text).toContain('sluice_queue_depth{queue="mail"} 0')
  expect(text).toContain('sluice_queue_depth{queue="later"} 0')
  metrics.stop()
  expect(register.getMetricsAsArray()).toEqual([])
})

test('a database that cannot be asked leaves the counters', async () => {
  await using sluice = new Sluice({ database: 'postgres://nobody@127.0.0.1:1/none' })
  expect(await prometheus(sluice).text()).toContain('# TYPE sluice_jobs_enqueued_total counter')
})

test('names beyond two hundred are one', () => {
  const labels = new Labels()
  const names = new Set(Array.from({ length: 1_000 }, (_, n) => labels.of('queue', `q${n}`)))
  expect(names.size).toBe(201)
  expect(labels.of('queue', 'q5')).toBe('q5')
  expect(labels.of('job', 'q999')).toBe('q999')
})

const read = (file: string): string =>
  readFileSync(new URL(`../../../docs/operations/${file}`, import.meta.url), 'utf8')

describe('what is shipped for Grafana and Prometheus', () => {
  test.each(['grafana-dashboard.json', 'prometheus-alerts.yml'])('%s names metrics that there are', async (file) => {
    await using sluice = new Sluice()
    const { register } = prometheus(sluice)
    const there = new Set(
      register.getMetricsAsArray().flatMap(({ name }) => [name, `${name}_bucket`, `${name}_sum`, `${name}_count`]),
    )
    const named = [...new Set(read(file).match(/\bsluice_\w+/g))]
    expect(named.length).toBeGreaterThan(5)
    expect(named.filter((name) => !there.has(name))).toEqual([])
  })

  test('the dashboard is one that Grafana can read', () => {
    const { title, panels } = JSON.parse(read('grafana-dashboard.json')) as {
      title: string
      panels: { title: string; targets?: { expr: string }[] }[]
    }
    expect(title).toBe('Sluice')
    expect(panels.filter(({ targets }) => targets !== undefined).length).toBeGreaterThan(8)
  })
})
