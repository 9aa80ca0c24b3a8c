import { AsyncLocalStorage } from 'node:async_hooks'
import type * as otel from '@opentelemetry/api'
import { context, createNoopMeter, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { expect, test } from 'vitest'
import { defineJob } from '../../../src/index.ts'
import { openTelemetry } from '../../../src/observe/metrics/index.ts'
import { testDatabase } from '../../support/database.ts'
import { drained, jobWorker } from '../../support/jobs.ts'

const secret = 'hunter2-canary'
const fine = defineJob({ name: 'fine', queue: 'mail', perform: () => undefined })
const doomed = defineJob({
  name: 'doomed',
  queue: 'mail',
  retry: false,
  perform() {
    throw new TypeError(secret)
  },
})

interface Recorded {
  name: string
  kind: number | undefined
  attributes: Record<string, unknown>
  links: otel.Link[]
  ended: boolean
}

/** Providers that write down what they are asked for. */
function recorder(): {
  spans: Recorded[]
  instruments: string[]
  tracerProvider: otel.TracerProvider
  meterProvider: otel.MeterProvider
} {
  const spans: Recorded[] = []
  const instruments: string[] = []
  const noop = trace.getTracer('none').startSpan('none')
  const startSpan: otel.Tracer['startSpan'] = (name, { kind, attributes, links = [] } = {}) => {
    const span: Recorded = { name, kind, attributes: { ...attributes }, links, ended: false }
    spans.push(span)
    const set = (key: string, value: unknown): void => void (span.attributes[key] = value)
    return Object.assign(Object.create(noop) as otel.Span, { setAttribute: set, end: () => void (span.ended = true) })
  }
  const meter = createNoopMeter()
  const noting = new Proxy(meter, {
    get: (target, key) => {
      const made = Reflect.get(target, key) as unknown
      if (typeof made !== 'function' || !String(key).startsWith('create')) return made
      return (name: string) => {
        instruments.push(name)
        return (made as (name: string) => unknown).call(target, name)
      }
    },
  })
  const tracer = { startSpan, startActiveSpan: () => undefined } as unknown as otel.Tracer
  return { spans, instruments, tracerProvider: { getTracer: () => tracer }, meterProvider: { getMeter: () => noting } }
}

test('spans and metrics have the names of the convention, and never what a job is about', async () => {
  await using db = await testDatabase()
  await using worker = jobWorker(db, [fine, doomed])
  const { spans, instruments, ...providers } = recorder()
  const stop = openTelemetry(worker.sluice, providers)
  await worker.sluice.start()
  const { id } = await worker.jobs.enqueue(fine)
  await worker.jobs.enqueue(doomed)
  await drained(db)
  await worker.events.event('job.died')
  await worker.events.event('job.finished')
  stop()
  expect(spans.map(({ name, kind, ended }) => `${name} ${kind} ${ended}`).toSorted()).toEqual([
    'process mail 4 true',
    'process mail 4 true',
    'send mail 3 true',
    'send mail 3 true',
  ])
  const done = spans.find(({ attributes }) => attributes['messaging.message.id'] === String(id))
  expect(done?.attributes).toEqual({
    'messaging.system': 'sluice',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': 'mail',
    'messaging.message.id': String(id),
    'sluice.job': 'fine',
    'sluice.attempt': 1,
    'sluice.outcome': 'succeeded',
  })
  expect(spans.some(({ attributes }) => attributes['error.type'] === 'TypeError')).toBe(true)
  expect(JSON.stringify(spans)).not.toContain(secret)
  expect(instruments.toSorted()).toEqual([
    'messaging.client.consumed.messages',
    'messaging.client.sent.messages',
    'messaging.process.duration',
    'sluice.batch.duration',
    'sluice.batch.size',
    'sluice.health.state',
    'sluice.operation.failures',
    'sluice.operation.rows',
    'sluice.queue.depth',
    'sluice.queue.oldest_age',
    'sluice.throttle.wait',
  ])
})

/** What the SDK of an application does: who is called inside of a span knows it. */
function contextManager(): otel.ContextManager {
  const storage = new AsyncLocalStorage<otel.Context>()
  const manager: otel.ContextManager = {
    active: () => storage.getStore() ?? ROOT_CONTEXT,
    with: (active, work, self, ...args) => storage.run(active, () => work.apply(self as never, args)),
    bind: (_, target) => target,
    enable: () => manager,
    disable: () => manager,
  }
  return manager
}

test('a span that processes a job is linked to the one that was active when it was enqueued', async () => {
  await using db = await testDatabase()
  const seen: (readonly string[])[] = []
  const tagged = defineJob({ name: 'tagged', queue: 'mail', perform: ({ job }) => void seen.push(job.tags) })
  await using worker = jobWorker(db, [tagged])
  const { spans, instruments: _, ...providers } = recorder()
  context.setGlobalContextManager(contextManager())
  const stop = openTelemetry(worker.sluice, providers)
  const caller = { traceId: '0af7651916cd43dd8448eb211c80319c', spanId: 'b7ad6b7169203331', traceFlags: 1 }
  const within = trace.setSpan(context.active(), trace.wrapSpanContext(caller))
  const one = await context.with(within, () => worker.jobs.enqueue(tagged, undefined, { tags: ['mine'] }))
  const [many] = await context.with(within, () => worker.jobs.enqueueMany(tagged, [undefined]))
  const without = await worker.jobs.enqueue(tagged)
  expect(await worker.jobs.get(one.id)).toMatchObject({ tags: ['mine'], traceId: caller.traceId })
  expect(await worker.jobs.get(without.id)).toMatchObject({ tags: [], traceId: null })
  await worker.sluice.start()
  await worker.events.event('job.finished', { nth: 3 })
  stop()
  context.disable()
  const linksOf = (id: number | undefined): unknown =>
    spans.find(({ attributes }) => attributes['messaging.message.id'] === String(id))?.links.map((link) => link.context)
  expect(linksOf(one.id)).toEqual([{ ...caller, isRemote: true }])
  expect(linksOf(many?.id)).toEqual([{ ...caller, isRemote: true }])
  expect(linksOf(without.id)).toEqual([])
  expect(seen.toSorted((a, b) => b.length - a.length)).toEqual([['mine'], [], []])
  // Nobody traces any more.
  const later = await context.with(within, () => worker.jobs.enqueue(tagged, undefined, { in: '1h' }))
  expect(await db.value('select tags from sluice.job where id = $1', [later.id])).toBeNull()
})
