import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveDashboard } from '../../src/dashboard/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { axe, openBrowser, visit } from './browser.ts'
import { charge, counting, countUp, dashboardPlace, welcome, type DashboardPlace } from '../dashboard/place.ts'

const themes = ['light', 'dark'] as const

/** Puts a sample there, so that nobody has to wait for ten seconds of work. */
async function sampled(db: TestDatabase, id: string): Promise<void> {
  await db.query(
    `insert into sluice.operation_sample_10s (at, operation_id, name, rows_seen, progress)
     select now() - i * interval '10 s', $1, 'count-up', 40, 0.3 - i * 0.1 from generate_series(1, 3) i
     on conflict do nothing`,
    [id],
  )
}

describe('the pages of the dashboard', () => {
  let place: DashboardPlace
  let browser: Browser
  beforeAll(async () => {
    ;[place, browser] = await Promise.all([dashboardPlace({ environment: 'production' }), openBrowser()])
    const { sluice } = place
    await sluice.start()
    await sluice.jobs.enqueueMany(
      charge,
      [...Array(12).keys()].map((n) => ({ card: n % 2 === 0 ? `bad-${n}` : `ok-${n}` })),
    )
    await sluice.jobs.enqueue(welcome, undefined, { in: '1h' })
    await sluice.batches.open({ description: 'a hundred letters' })
    await sluice.schedules.run('nightly')
    await place.db.query(`insert into sluice.schedule_tick (schedule, tick, outcome, reason)
      select 'nightly', now() - i * interval '1 minute', (array['started', 'skipped', 'failed'])[1 + i % 3], 'as it was'
      from generate_series(1, 6) i on conflict do nothing`)
    await until('some have failed', async () => (await sluice.jobs.failures())[0]?.jobs === 6)
  })
  afterAll(async () => {
    await browser?.close()
    await place?.[Symbol.asyncDispose]()
  })

  test('follow an operation, pause it, resume it, and see its end', async () => {
    const { sluice, origin } = place
    await using visited = await visit(browser, { origin, role: 'operator' })
    const { page, problems } = visited
    // It lasts until the page has been opened, however long that takes.
    counting.subBatchMs = 1_000
    const { id } = await sluice.operations.start(countUp)
    await page.goto(`${origin}/operations/${id}`)
    await page.getByRole('button', { name: 'Pause' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Reason').fill('a look around')
    await dialog.getByRole('button', { name: 'Pause' }).click()
    await page.locator('h1 .chip', { hasText: 'Paused' }).waitFor()
    expect(await sluice.operations.get(id)).toMatchObject({ state: 'paused', reason: 'a look around' })
    counting.subBatchMs = 20
    await page.getByRole('button', { name: 'Resume' }).click()
    await dialog.getByRole('button', { name: 'Resume' }).click()
    await page.locator('h1 .chip', { hasText: 'Finished' }).waitFor()
    expect(await page.locator('.progress strong').textContent()).toBe('100 %')
    await page.getByRole('tab', { name: 'History' }).click()
    await page.getByText('a look around').first().waitFor()
    expect(problems).toEqual([])
  })

  test('cancel needs the typed name in production, and a stale page changes nothing', async () => {
    const { sluice, origin } = place
    await using visited = await visit(browser, { origin, role: 'operator' })
    const { page } = visited
    counting.subBatchMs = 1_000
    const { id } = await sluice.operations.start(countUp)
    await page.goto(`${origin}/operations/${id}`)
    await page.getByRole('button', { name: 'Cancel' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Cancel' })
    expect(await confirm.isDisabled()).toBe(true)
    expect(await axe(page)).toEqual([])
    await dialog.getByLabel(/Type count-up/).fill('count-up')
    await sluice.operations.pause(id)
    await until('it is paused', async () => (await sluice.operations.get(id)).state === 'paused')
    counting.subBatchMs = 20
    await confirm.click()
    await dialog.getByText('Nothing was changed').waitFor()
    expect((await sluice.operations.get(id)).state).toBe('paused')
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.locator('h1 .chip', { hasText: 'Paused' }).waitFor()
    await page.getByRole('button', { name: 'Cancel' }).click()
    await dialog.getByLabel(/Type count-up/).fill('count-up')
    await confirm.click()
    await page.locator('h1 .chip', { hasText: 'Cancelled' }).waitFor()
  })

  test('retry a group of failed jobs', async () => {
    const { origin, db } = place
    await using visited = await visit(browser, { origin, role: 'operator' })
    const { page } = visited
    await page.goto(`${origin}/failed`)
    await page.getByRole('button', { name: 'Retry charge' }).click()
    const attempts = async (): Promise<number> => db.value('select count(*)::int from sluice.job_attempt')
    const before = await attempts()
    await page.getByRole('dialog').getByRole('button', { name: 'Retry 6 jobs' }).click()
    await until('all six ran again', async () => (await attempts()) === before + 6)
  })

  test('act on jobs that were chosen, when the number is typed', async () => {
    const { origin, sluice } = place
    await using visited = await visit(browser, { origin, role: 'operator' })
    const { page } = visited
    const chosen = await sluice.jobs.enqueueMany(welcome, [undefined, undefined, undefined], {
      in: '2h',
      tags: ['chosen'],
    })
    await page.goto(`${origin}/jobs?tag=chosen`)
    await page.getByLabel('All on this page').check()
    await page.getByLabel(`Choose job ${chosen[2]?.id}`).uncheck()
    await page.getByText('2 jobs chosen').waitFor()
    await page.getByRole('button', { name: 'Discard 2 jobs' }).click()
    const dialog = page.getByRole('dialog')
    const confirm = dialog.getByRole('button', { name: 'Discard 2 jobs' })
    expect(await confirm.isDisabled()).toBe(true)
    expect(await axe(page)).toEqual([])
    await dialog.getByLabel('Type discard 2').fill('discard 2')
    await confirm.click()
    await until('two are discarded', async () => {
      const states = await Promise.all(chosen.map(async ({ id }) => (await sluice.jobs.get(id)).state))
      return states.join() === 'discarded,discarded,scheduled'
    })
  })

  test('tell what the checks say, who did what, when it will end, and when it runs next', async () => {
    const { origin, sluice, db } = place
    await using visited = await visit(browser, { origin, role: 'operator', width: 390 })
    const { page, problems } = visited
    const { id } = await sluice.operations.start(countUp)
    await sluice.operations.set(id, { pace: 0.2 }, { actor: 'ann', reason: 'it is noon' })
    await until('there is an estimate', async () => (await sluice.operations.get(id)).eta !== undefined)
    await sampled(db, id)
    await page.goto(`${origin}/operations/${id}`)
    await page.getByRole('img', { name: /^Progress: .* % ?; ends between .* and .*, likely/ }).waitFor()
    await page.getByRole('tab', { name: 'Plan' }).click()
    await page.getByText('Rows to walk').waitFor()
    expect(await axe(page)).toEqual([])
    await page.getByRole('tab', { name: 'Audit' }).click()
    await page.getByText('it is noon').waitFor()
    await sluice.operations.cancel(id)
    await page.goto(`${origin}/schedules`)
    const runs = page.getByLabel('Next runs of nightly, UTC')
    await runs.waitFor()
    expect(await runs.getByRole('listitem').count()).toBe(3)
    await page.goto(`${origin}/audit`)
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Export CSV' }).click(),
    ])
    expect(file.suggestedFilename()).toBe('audit.csv')
    expect(problems).toEqual([])
  })

  test('act on all jobs that match, and show the columns that somebody wants', async () => {
    const { origin, sluice } = place
    const later = Array.from({ length: 60 }, (_, n) => ({ card: n % 2 === 0 ? 'even' : 'odd' }))
    await sluice.jobs.enqueueMany(charge, later, { in: '2h', tags: ['parity'] })
    const odd = { states: ['scheduled'], name: 'charge', tag: 'parity', args: { card: 'odd' } } as const
    await using visited = await visit(browser, { origin, role: 'operator' })
    const { page, problems } = visited
    await page.goto(`${origin}/jobs?view=scheduled&name=charge&tag=parity`)
    await page.getByText('Columns', { exact: true }).click()
    await page.getByLabel('Args', { exact: true }).check()
    await page.getByText('{"card":"odd"}').first().waitFor()
    expect(await axe(page)).toEqual([])
    await page.getByLabel('All on this page').check()
    await page.getByRole('button', { name: 'Cancel all that match' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('Cancel all that match, 60 jobs?').waitFor()
    await dialog.getByRole('button', { name: 'Leave it' }).click()
    await page.goto(`${origin}/jobs?view=scheduled&name=charge&tag=parity&arg=card%3Dodd&before=1000000`)
    await page.getByLabel('All on this page').check()
    await page.getByRole('button', { name: 'Cancel all that match' }).click()
    await dialog.getByLabel('Type cancel all').fill('cancel all')
    await dialog.getByRole('button', { name: 'Cancel 30 jobs' }).click()
    await until('they are cancelled', async () => (await sluice.jobs.count(odd)).jobs === 0)
    expect(await sluice.jobs.count({ states: ['scheduled'], tag: 'parity' })).toEqual({ jobs: 30, more: false })
    // What was chosen is remembered.
    await page.goto(`${origin}/jobs?view=scheduled`)
    await page.getByText('{"card":"even"}').first().waitFor()
    expect(problems).toEqual([])
  })

  test('ask a worker to end', async () => {
    const { origin, db } = place
    await db.query(`insert into sluice.worker (id, host, pid, version, operations, seen_at)
      values ('8c5f8b9e-0000-7000-8000-000000000001', 'old-host', 1, '0.1.0', '{}', now() + interval '1 hour')`)
    await using visited = await visit(browser, { origin, role: 'operator' })
    const { page } = visited
    await page.goto(`${origin}/workers`)
    await page.getByRole('button', { name: 'Drain old-host' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Type old-host').fill('old-host')
    await dialog.getByRole('button', { name: 'Drain' }).click()
    await page.getByText('asked by the operator').waitFor()
  })

  test('limit a queue, and take the limit away', async () => {
    const { origin, sluice } = place
    await using visited = await visit(browser, { origin, role: 'operator' })
    const { page, problems } = visited
    const rate = async (): Promise<unknown> =>
      (await sluice.queues.list()).find(({ name }) => name === 'mail')?.rate ?? null
    await page.goto(`${origin}/queues`)
    await page.getByRole('button', { name: 'Limit queue mail' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Jobs, at most').fill('many')
    await dialog.getByRole('button', { name: 'Set limit' }).click()
    await dialog.getByText('The limit is a whole number').waitFor()
    expect(await axe(page)).toEqual([])
    await dialog.getByLabel('Jobs, at most').fill('7')
    await dialog.getByLabel('Per').selectOption('hour')
    await dialog.getByRole('button', { name: 'Set limit' }).click()
    await page.getByText('at most 7 per hour').waitFor()
    expect(await rate()).toEqual({ limit: 7, perMs: 3_600_000 })
    await page.getByRole('button', { name: 'Limit queue mail' }).click()
    await dialog.getByLabel('Jobs, at most').fill('')
    await dialog.getByRole('button', { name: 'Set limit' }).click()
    await page.getByText('at most 7 per hour').waitFor({ state: 'detached' })
    expect(await rate()).toBeNull()
    expect(problems).toEqual([])
  })

  test('fit a phone: rows are cards, nothing is wider than the screen', async () => {
    const { origin } = place
    await using visited = await visit(browser, { origin, role: 'admin', width: 390 })
    const { page } = visited
    const wide: string[] = []
    for (const path of [
      'operations',
      'jobs?view=failed',
      'queues',
      'failed',
      'schedules',
      'workers',
      'health',
      'audit',
    ]) {
      await page.goto(`${origin}/${path}`)
      await page.locator('main tbody tr').first().waitFor()
      const width = await page.evaluate<number>('document.documentElement.scrollWidth')
      const inside = await page.evaluate<number>("document.querySelector('.table').scrollWidth")
      if (Math.max(width, inside) > 390) wide.push(`${path}: ${width}, its table ${inside}`)
    }
    expect(wide).toEqual([])
    await page.goto(`${origin}/failed`)
    const cell = page.locator('td', { hasText: /^6$/ }).first()
    await cell.waitFor()
    expect(await cell.getAttribute('data-label')).toBe('Jobs')
    expect(await axe(page)).toEqual([])
  })

  test('say what is missing, and lead back', async () => {
    const { origin } = place
    await using visited = await visit(browser, { origin, role: 'viewer' })
    const { page } = visited
    await page.goto(`${origin}/operations/00000000-0000-7000-8000-000000000000`)
    await page.getByText('There is no operation with id').waitFor()
    expect(await page.locator('main h1').textContent()).toBe('Operation')
    expect(await axe(page)).toEqual([])
    await page.locator('main a', { hasText: 'Operations' }).click()
    await page.locator('h1', { hasText: 'Operations' }).waitFor()
    await page.goto(`${origin}/nowhere`)
    await page.locator('h1', { hasText: 'There is no such page' }).waitFor()
  })

  test('show a viewer no buttons, and a stranger nothing', async () => {
    const { origin } = place
    await using viewer = await visit(browser, { origin, role: 'viewer' })
    await viewer.page.goto(`${origin}/queues`)
    await viewer.page.getByRole('table').waitFor()
    expect(await viewer.page.locator('main').getByRole('button').count()).toBe(0)
    await using stranger = await visit(browser, { origin })
    const answer = await stranger.page.goto(`${origin}/operations`)
    expect(answer?.status()).toBe(401)
    expect(await stranger.page.locator('h1').textContent()).toBe('Not signed in')
  })

  test('open with the token of a start, and with nothing else', async () => {
    await using served = await serveDashboard(place.sluice, { port: 0 })
    const { origin } = new URL(served.url)
    await using owner = await visit(browser, { origin })
    await owner.page.goto(served.url)
    await owner.page.locator('h1', { hasText: 'Operations' }).waitFor()
    expect(owner.page.url()).toBe(`${origin}/`)
    expect(await owner.page.evaluate('document.cookie')).toBe('')
    await using stranger = await visit(browser, { origin })
    expect((await stranger.page.goto(`${origin}/operations`))?.status()).toBe(401)
  })

  test('are accessible in both themes, and load nothing from elsewhere', async () => {
    const { origin, sluice } = place
    const [operation] = await sluice.operations.list({ limit: 1 })
    const [failed] = (await sluice.jobs.list({ states: ['dead'] })).jobs
    const details = [`operations/${operation?.id}`, 'new?name=delete-done', `jobs/${failed?.id}`]
    const lists = [
      'operations',
      'jobs',
      'queues',
      'failed',
      'schedules',
      'machines',
      'batches',
      'workers',
      'health',
      'audit',
    ]
    await using visited = await visit(browser, { origin, role: 'admin' })
    const { page, problems } = visited
    const found: string[] = []
    for (const path of [...lists, 'about', ...details]) {
      await page.goto(`${origin}/${path}`)
      await page.locator('main h1').waitFor()
      await page.locator('.loading').waitFor({ state: 'detached' })
      for (const colorScheme of themes) {
        await page.emulateMedia({ colorScheme })
        for (const finding of await axe(page)) found.push(`${path}, ${colorScheme}: ${finding}`)
      }
    }
    expect(found).toEqual([])
    expect(problems).toEqual([])
  })
})
