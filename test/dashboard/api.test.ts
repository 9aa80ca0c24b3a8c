import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { contract, type Route } from '../../src/dashboard/contract.ts'
import { createDashboard, type Dashboard, type Visitor } from '../../src/dashboard/index.ts'
import { until } from '../support/wait.ts'
import { misfits } from './fits.ts'
import { ask, charge, countUp, dashboardPlace, welcome, type Answered, type DashboardPlace } from './place.ts'

const pattern = (template: string): RegExp => new RegExp(`^${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`)

const ann = (): Visitor => ({ user: 'ann', role: 'viewer' })

describe('the API of the dashboard', () => {
  let place: DashboardPlace
  const described = new Set<string>()
  const made = (traces: string): Dashboard => createDashboard(place.sluice, { authorize: ann, traces })
  /** Asks, and shows that the answer is what the OpenAPI document says. */
  const checked = async (path: string, options: Parameters<typeof ask>[2]): ReturnType<typeof ask> => {
    const answered = await ask(place.origin, path, options)
    const [wanted = ''] = path.split('?')
    const document = (await ask(place.origin, '/openapi.json')).json
    const method = options?.body === undefined ? 'get' : 'post'
    const route = Object.keys(document.paths).find((one) => document.paths[one][method] && pattern(one).test(wanted))
    if (answered.status !== 200 || route === undefined) return answered
    const { operationId, responses } = document.paths[route][method]
    expect(misfits(responses[200].content['application/json'].schema, answered.json), operationId).toEqual([])
    described.add(operationId)
    return answered
  }
  const get = (path: string, role = 'admin') => checked(path, { role })
  const post = (path: string, body: unknown, role = 'admin') => checked(path, { role, body })
  /** As somebody else: the dashboard limits how much one person may change at once. */
  const change = (path: string, expectedState: string) => post(path, { expectedState }, 'operator')
  beforeAll(async () => {
    place = await dashboardPlace()
  })
  afterAll(async () => place[Symbol.asyncDispose]())

  test('tells who looks, and where', async () => {
    const { status, json } = await get('/session', 'viewer')
    expect(status).toBe(200)
    expect(json).toMatchObject({ user: 'the viewer', role: 'viewer', environment: 'test', schema: 'sluice' })
    expect(json.database).toMatch(/^test_/)
  })

  test('shows what can be started, with a form for its args', async () => {
    const { json } = await get('/definitions')
    expect(json.definitions.map((one: { name: string }) => one.name)).toEqual(['count-up', 'delete-done'])
    expect(json.definitions[1].args).toMatchObject({ type: 'object', properties: { above: { type: 'integer' } } })
    expect(json.definitions[0]).toMatchObject({ takesArgs: false, args: null })
  })

  test('plans without changing anything, and starts', async () => {
    const plan = await post('/plan', { name: 'delete-done', args: { above: 2_990 } })
    expect(plan.status).toBe(200)
    expect(plan.json.plan).toMatchObject({ name: 'delete-done', table: expect.stringContaining('counters') })
    expect(await place.db.value('select count(*)::int from counters')).toBe(3_000)
    const wrong = await post('/plan', { name: 'delete-done', args: { above: 'x' } })
    expect(wrong).toMatchObject({ status: 400, json: { error: { code: 'ARGS_INVALID' } } })
    const started = await post('/start', { name: 'delete-done', args: { above: 2_990 } })
    expect(started.json).toMatchObject({ duplicate: false })
    const shown = await get(`/operations/${started.json.id}`)
    expect(shown.json.operation).toMatchObject({
      state: 'queued',
      actor: 'the admin',
      verbs: expect.arrayContaining(['pause', 'cancel', 'set']),
    })
    expect((await get(`/operations/${started.json.id}`, 'viewer')).json.operation.verbs).toEqual([])
  })

  test('acts only on what is in the state that was seen', async () => {
    const { id } = await place.sluice.operations.start(countUp)
    const at = `/operations/${id}`
    const stale = await post(`${at}/pause`, { expectedState: 'active' })
    expect(stale).toMatchObject({ status: 409, json: { error: { code: 'STATE_CHANGED' } } })
    const paused = await post(`${at}/pause`, { expectedState: 'queued', reason: 'lunch' })
    expect(paused.json.operation).toMatchObject({ state: 'paused', reason: 'lunch' })
    const again = await post(`${at}/pause`, { expectedState: 'queued' })
    expect(again).toMatchObject({ status: 409, json: { error: { code: 'STATE_CHANGED' } } })
    const set = await post(`${at}/set`, { expectedState: 'paused', pace: 0.5, lanes: 2, window: '' })
    expect(set.json.operation).toMatchObject({ pace: 0.5, lanes: 2, window: null })
    expect((await post(`${at}/resume`, { expectedState: 'paused' })).json.operation.state).toBe('queued')
    expect((await post(`${at}/cancel`, { expectedState: 'queued' })).json.operation.state).toBe('cancelled')
    const { json } = await get(`${at}/records`)
    expect(json.transitions.map((one: { to: string }) => one.to)).toEqual(['cancelled', 'queued', 'paused', 'queued'])
    expect(json.transitions[2]).toMatchObject({ actor: 'the admin', reason: 'lunch' })
  })

  test('shows jobs, and changes their course', async () => {
    const { jobs } = place.sluice
    const later = await jobs.enqueue(welcome, undefined, { in: '1h' })
    const { json } = await get('/jobs?states=scheduled&queue=mail')
    expect(json.jobs).toMatchObject([{ id: later.id, state: 'scheduled', name: 'welcome' }])
    expect((await get(`/jobs/${later.id}`)).json.job.verbs).toEqual(['run', 'cancel', 'discard'])
    expect((await post(`/jobs/${later.id}/run`, { expectedState: 'waiting' })).status).toBe(409)
    expect((await post(`/jobs/${later.id}/run`, { expectedState: 'scheduled' })).json.job.state).toBe('waiting')
    expect((await post(`/jobs/${later.id}/discard`, { expectedState: 'waiting' })).json.job.state).toBe('discarded')
    expect((await get('/jobs/999999999')).status).toBe(404)
  })

  test('groups failed jobs by what went wrong, and takes up or discards a group', async () => {
    const { sluice } = place
    await sluice.jobs.enqueueMany(
      charge,
      [...Array(7).keys()].map((n) => ({ card: `bad-${n}` })),
    )
    await sluice.start()
    await until('all have failed', async () => (await get('/failed')).json.looked === 7)
    const [group] = (await get('/failed')).json.groups
    expect(group).toMatchObject({ name: 'charge', queue: 'billing', state: 'dead', jobs: 7, error: { name: 'Error' } })
    expect(group.perHour.reduce((a: number, b: number) => a + b, 0)).toBe(7)
    const at = `/failed/${group.fingerprint}`
    expect((await post(at, { action: 'discard', expectedJobs: 3 })).json.error.code).toBe('STATE_CHANGED')
    expect((await get(`/jobs?states=dead&fingerprint=${group.fingerprint}`)).json.jobs).toHaveLength(7)
    expect((await get(`/jobs?states=dead&fingerprint=${'0'.repeat(32)}`)).json.jobs).toEqual([])
    expect((await post(at, { action: 'retry', expectedJobs: 7 })).status).toBe(200)
    const attempts = async (): Promise<number> => place.db.value('select count(*)::int from sluice.job_attempt')
    await until(
      'all have failed again',
      async () => (await attempts()) === 14 && (await get('/failed')).json.looked === 7,
    )
    expect((await post(at, { action: 'discard', expectedJobs: 7 })).status).toBe(200)
    await until('all are discarded', async () => (await get('/failed')).json.looked === 0)
    expect((await get('/jobs?states=discarded&name=charge')).json.jobs).toHaveLength(7)
  })

  test('takes up or gives up groups that were chosen, and no more jobs than were seen', async () => {
    const { sluice } = place
    await sluice.jobs.enqueueMany(
      charge,
      [...Array(3).keys()].map((n) => ({ card: `bad-${n}` })),
    )
    await until('all have failed', async () => (await get('/failed')).json.looked === 3)
    const fingerprints = (await get('/failed')).json.groups.map((one: { fingerprint: string }) => one.fingerprint)
    const stale = await post('/failed', { action: 'discard', fingerprints, expectedJobs: 2 })
    expect(stale).toMatchObject({ status: 409, json: { error: { code: 'STATE_CHANGED' } } })
    const { status, json } = await post('/failed', { action: 'discard', fingerprints, expectedJobs: 3 })
    expect({ status, jobs: json.jobIds.length }).toEqual({ status: 200, jobs: 1 })
    await until('all are discarded', async () => (await get('/failed')).json.looked === 0)
  })

  test('acts on chosen jobs that are still as they were seen', async () => {
    const { jobs } = place.sluice
    const chosen = await Promise.all([1, 2, 3].map(() => jobs.enqueue(welcome, undefined, { in: '1h' })))
    const ids = chosen.map(({ id }) => id)
    const states = async (): Promise<string[]> => Promise.all(ids.map(async (id) => (await jobs.get(id)).state))
    const bulk = async (expectedStates: string[], some: number[]): Promise<void> => {
      const { json } = await post('/jobs/bulk', { action: 'discard', ids: some, expectedStates, reason: 'tidy' })
      expect(await jobs.wait(json.jobId)).toMatchObject({ state: 'succeeded' })
    }
    await bulk(['blocked', 'dead'], ids)
    expect(await states()).toEqual(['scheduled', 'scheduled', 'scheduled'])
    await bulk(['scheduled'], ids.slice(0, 2))
    expect(await states()).toEqual(['discarded', 'discarded', 'scheduled'])
    const { json } = await get('/audit?action=jobs')
    expect(json.acts[0]).toMatchObject({ action: 'jobs.discard', actor: 'the admin', reason: 'tidy' })
    expect((await post('/jobs/bulk', { action: 'discard', ids: Array(201).fill(1), expectedStates: [] })).status).toBe(
      400,
    )
    expect((await post('/jobs/bulk', { action: 'burn', ids, expectedStates: [] })).status).toBe(400)
  })

  test('says where traces are looked at, and refuses an address without a place for the trace', async () => {
    for (const traces of ['tempo', 'https://tempo.example.com/trace', 'javascript:alert({traceId})']) {
      expect(() => made(traces)).toThrow(/"traces" must be an address with {traceId} in it/)
    }
    const traces = 'https://tempo.example.com/trace/{traceId}'
    await using traced = made(traces)
    const answer = await traced.fetch(new Request('http://localhost/api/session', { headers: { host: 'localhost' } }))
    expect(await answer.json()).toMatchObject({ traces })
  })

  test('acts on all jobs that match, and counts them before', async () => {
    const { jobs } = place.sluice
    const cards = ['a', 'b', 'a'].map((card) => ({ card }))
    const ids = (await jobs.enqueueMany(charge, cards, { in: '1h', tags: ['matching'] })).map(({ id }) => id)
    const filter = { states: ['scheduled'], name: 'charge', tag: 'matching', arg: 'card=a' }
    const query = new URLSearchParams({ ...filter, states: 'scheduled' }).toString()
    expect(await get(`/jobs/count?${query}`)).toMatchObject({ status: 200, json: { jobs: 2, more: false } })
    expect((await get(`/jobs?${query}`)).json.jobs.map((job: { id: number }) => job.id)).toEqual([ids[2], ids[0]])
    const { json } = await post('/jobs/bulk/matching', { action: 'cancel', ...filter, reason: 'tidy' })
    expect(await jobs.wait(json.jobId)).toMatchObject({ state: 'succeeded' })
    const states = await Promise.all(ids.map(async (id) => (await jobs.get(id)).state))
    expect(states).toEqual(['cancelled', 'scheduled', 'cancelled'])
    const acts = (await get('/audit?action=jobs')).json.acts
    expect(acts[0]).toMatchObject({ action: 'jobs.cancel', reason: 'tidy', after: { query: { args: { card: 'a' } } } })
    const nameless = await get('/jobs/count?arg=card%3Da')
    expect(nameless).toMatchObject({ status: 400, json: { error: { code: 'ARGS_INVALID' } } })
    expect((await post('/jobs/bulk/matching', { action: 'cancel' })).status).toBe(400)
  })

  test('exports the audit as a file, of what the filter leaves', async () => {
    const file = async (query: string): Promise<{ type: string | null; name: string | null; lines: string[] }> => {
      const response = await fetch(`${place.origin}/api/audit/export${query}`, { headers: { 'x-role': 'viewer' } })
      const text = await response.text()
      const [type, name] = [response.headers.get('content-type'), response.headers.get('content-disposition')]
      return { type, name, lines: text.trimEnd().split('\n') }
    }
    const csv = await file('')
    expect(csv).toMatchObject({ type: 'text/csv; charset=utf-8', name: 'attachment; filename="audit.csv"' })
    expect(csv.lines[0]).toBe('id,at,actor,source,action,target,before,after,reason')
    expect(csv.lines).toHaveLength(1 + (await place.db.value<number>('select count(*)::int from sluice.audit')))
    const json = await file('?format=json&action=jobs')
    expect(json.type).toBe('application/x-ndjson')
    const acts = json.lines.map((line) => JSON.parse(line) as { action: string })
    expect(acts.length).toBeGreaterThan(1)
    expect(acts.every(({ action }) => action.startsWith('jobs.'))).toBe(true)
    expect((await get('/audit/export?format=xml')).status).toBe(400)
    expect((await ask(place.origin, '/audit/export', { role: null })).status).toBe(401)
  })

  test('plans what is there without a dry run, once for all who look, and lets nobody watch that', async () => {
    const { id } = await place.sluice.operations.start(countUp)
    const first = await get(`/operations/${id}/plan`, 'viewer')
    expect(first.json.plan).toMatchObject({ name: 'count-up', refused: false, dryRun: { outcome: 'left out' } })
    expect(first.json.plan.estimate.rowsToSee).toBeGreaterThan(2_000)
    for (const statement of first.json.plan.statements) expect(statement).not.toHaveProperty('plan')
    expect((await get(`/operations/${id}/plan`)).json.madeAt).toBe(first.json.madeAt)
    const watch = encodeURIComponent(`/operations/${id}/plan`)
    expect((await get(`/stream?watch=${watch}`)).status).toBe(400)
    expect((await get('/operations/8c5f8b9e-0000-7000-8000-000000000000/plan')).status).toBe(404)
    await place.sluice.operations.cancel(id)
  })

  test('shows queues, pauses them and slows them down', async () => {
    expect((await post('/queues/billing/pause', { expectedState: 'open' })).json.queue).toMatchObject({
      paused: true,
      pausedBy: 'the admin',
    })
    expect((await post('/queues/billing/pause', { expectedState: 'open' })).status).toBe(409)
    expect((await post('/queues/billing/resume', { expectedState: 'paused' })).json.queue.paused).toBe(false)
    expect((await post('/queues/billing/limit', { limit: 10, per: '1m' })).json.queue.rate).toEqual({
      limit: 10,
      perMs: 60_000,
    })
    expect((await post('/queues/billing/limit', {})).json.queue.rate).toBeNull()
    expect((await post('/queues/none/pause', { expectedState: 'open' })).status).toBe(404)
  })

  test('shows schedules, runs one and stops one', async () => {
    const list = await get('/schedules')
    expect(list.json.schedules).toMatchObject([{ name: 'nightly', rule: '0 3 * * *', enabled: true, ticks: [] }])
    const [{ nextAt, nextRuns }] = list.json.schedules
    expect(nextRuns).toHaveLength(3)
    expect(nextRuns[0]).toBe(nextAt)
    expect(new Set(nextRuns.map((at: string) => at.slice(11, 16)))).toEqual(new Set(['03:00']))
    expect((await post('/schedules/nightly/run', {})).json.tick).toMatchObject({
      outcome: 'started',
      actor: 'the admin',
    })
    expect(
      (await post('/schedules/nightly/disable', { expectedState: 'enabled', reason: 'holidays' })).json.schedule,
    ).toMatchObject({ enabled: false, disabledBy: 'the admin' })
    expect((await post('/schedules/nightly/enable', { expectedState: 'disabled' })).json.schedule.enabled).toBe(true)
  })

  test('shows machines, batches, workers, health and itself', async () => {
    expect((await get('/machines')).json.machines[0]).toMatchObject({
      name: 'order',
      states: [
        { state: 'new', rows: 30 },
        { state: 'paid', rows: 30 },
        { state: 'sent', rows: 30 },
        { state: 'cancelled', rows: 0 },
      ],
    })
    const { id } = await place.sluice.batches.open({ description: 'a hundred letters' })
    expect((await get('/batches')).json.batches).toMatchObject([{ id, description: 'a hundred letters' }])
    expect((await post(`/batches/${id}/cancel`, { expectedState: 'open' })).json.batch.state).toBe('cancelled')
    expect((await get(`/batches/${id}`)).json.batch).toMatchObject({ id, failures: [] })
    const [worker] = (await get('/workers')).json.workers
    expect(worker).toMatchObject({ drain_since: null, works_on: expect.any(Array) })
    await place.db.query(`insert into sluice.worker (id, host, pid, version, operations)
      values ('8c5f8b9e-0000-7000-8000-000000000001', 'elsewhere', 1, '0.1.0', '{}')`)
    const drain = (role: string, state: string): Promise<{ status: number; json: Answered }> =>
      post('/workers/8c5f8b9e-0000-7000-8000-000000000001/drain', { expectedState: state }, role)
    expect((await drain('viewer', 'working')).status).toBe(403)
    expect((await drain('operator', 'draining')).status).toBe(409)
    expect((await drain('operator', 'working')).status).toBe(200)
    expect((await drain('operator', 'working')).status).toBe(409)
    expect(await place.db.value("select drain_by from sluice.worker where host = 'elsewhere'")).toBe('the operator')
    expect((await get('/health')).json.findings.length).toBeGreaterThan(5)
    expect((await get('/about')).json).toMatchObject({ pendingMigrations: [], schema: 'sluice' })
  })

  test('describes itself by the contract', async () => {
    const { json } = await get('/openapi.json')
    expect(json.openapi).toBe('3.1.0')
    expect(json.paths['/operations/{id}/pause'].post).toMatchObject({
      operationId: 'operations.pause',
      'x-role': 'operator',
    })
    expect(json.paths['/jobs'].get.parameters.map((one: { name: string }) => one.name)).toContain('fingerprint')
  })

  test('answers as it describes', async () => {
    const { id } = await place.sluice.operations.start(countUp)
    await get('/operations')
    await get('/queues')
    for (const within of ['30m', '6h', '7d']) {
      for (const of of [`operations/${id}`, 'queues', 'signals']) await get(`/samples/${of}?within=${within}`)
    }
    await get('/audit')
    const [{ id: jobId }] = (await get('/jobs?states=discarded')).json.jobs
    await change(`/jobs/${jobId}/retry`, 'discarded')
    await place.sluice.operations.pause(id)
    await until('it stands still', async () => (await place.sluice.operations.get(id)).state === 'paused')
    await change(`/operations/${id}/retry`, 'paused')
    const later = await place.sluice.jobs.enqueue(welcome, undefined, { in: '1h' })
    await change(`/jobs/${later.id}/cancel`, 'scheduled')
    const [worker] = (await get('/workers')).json.workers
    await change(`/workers/${worker.id}/drain`, 'working')
    const files = Object.entries(contract as Record<string, Route>).flatMap(([name, { file }]) => (file ? [name] : []))
    const apart = new Set(['operations.approve', ...files])
    const all = Object.keys(contract).filter((name) => !apart.has(name))
    expect([...described]).toEqual(expect.arrayContaining(all))
  })
})
