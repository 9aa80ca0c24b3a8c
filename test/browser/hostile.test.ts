import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createDashboard } from '../../src/dashboard/index.ts'
import { openBrowser, visit } from './browser.ts'
import { hostile } from './hostile.ts'
import { charge, countUp, dashboardPlace, everybody, welcome, type DashboardPlace } from '../dashboard/place.ts'

describe('in a real browser', () => {
  let place: DashboardPlace
  let browser: Browser
  beforeAll(async () => {
    ;[place, browser] = await Promise.all([dashboardPlace(), openBrowser()])
  })
  afterAll(async () => {
    await browser?.close()
    await place?.[Symbol.asyncDispose]()
  })

  /** Elements and attributes that no page of ours has where it shows what others have written. */
  const strange =
    'main script, main iframe, main img, main object, main embed, main style, main [onerror], main [onload], main [onfocus], main [ontoggle], main a[href^="javascript"]'

  async function shows(page: Page, path: string): Promise<void> {
    await page.goto(`${place.origin}${path}`)
    await page.locator('main h1').waitFor()
    await page.locator('.loading').waitFor({ state: 'detached' })
    expect(await page.locator(strange).count(), path).toBe(0)
    expect(await page.evaluate(() => (globalThis as { __xss?: number }).__xss), path).toBeUndefined()
  }

  test('sixty hostile texts in every field that is shown are text', async () => {
    const { db, sluice, origin } = place
    expect(hostile).toHaveLength(60)
    await sluice.jobs.enqueueMany(
      charge,
      hostile.map((card) => ({ card })),
      { tags: hostile.slice(0, 3) },
    )
    const plain = hostile.map((text) => text.replaceAll('\u0000', ''))
    // As if each had failed with such an error, for such a reason, under such a key.
    await db.query(
      `insert into sluice.job_dead (id, enqueued_at, finished_at, class_id, queue_id, priority, attempt, crashes, outcome, reason, error, args, key, tags)
       select j.id + 1000000, now(), now(), j.class_id, j.queue_id, 1, 1, 0, 'dead', t.text,
         jsonb_build_object('name', t.text, 'message', t.text, 'code', t.text, 'stack', t.text),
         jsonb_build_object(t.text, t.text), t.text, array[t.text]
       from (select text, row_number() over () as n from unnest($1::text[]) text) t
       join (select *, row_number() over () as n from sluice.job) j on j.n = t.n`,
      [plain],
    )
    for (const [n, text] of plain.slice(0, 12).entries()) {
      const { id } = await sluice.operations.start(countUp, undefined, {
        tenant: `t${n} ${text}`.slice(0, 100),
        actor: text,
      })
      await sluice.operations.pause(id, { actor: text, reason: text })
      await sluice.batches.open({ description: text })
    }
    await sluice.schedules.disable('nightly', { actor: plain[0] ?? '', reason: plain[4] ?? '' })
    await sluice.queues.pause('billing', { actor: plain[4] ?? '' })
    await using visited = await visit(browser, { origin, role: 'admin' })
    const { page, problems } = visited
    for (const path of [
      '/operations',
      '/jobs',
      '/jobs?view=failed',
      '/failed',
      '/queues',
      '/schedules',
      '/batches',
      '/audit',
    ])
      await shows(page, path)
    const [paused] = await sluice.operations.list({ limit: 1 })
    await shows(page, `/operations/${paused?.id}`)
    await page.getByRole('tab', { name: 'History' }).click()
    await shows(page, `/operations/${paused?.id}?tab=history`)
    const ids = await db.query<{ id: string }>('select id from sluice.job_dead order by id limit 60')
    expect(ids).toHaveLength(60)
    for (const { id } of ids) await shows(page, `/jobs/${id}`)
    for (const text of plain) await shows(page, `/jobs?name=${encodeURIComponent(text)}`)
    expect(await page.locator('body').textContent()).toContain('Jobs')
    expect(problems).toEqual([])
  })

  test('a page finds its server again after a restart, and is told when it may not come in', async () => {
    const { sluice } = place
    let admitted = true
    const start = async (port: number): Promise<{ port: number; stop: () => Promise<void> }> => {
      const dashboard = createDashboard(sluice, { authorize: (request) => (admitted ? everybody(request) : null) })
      const server = createServer(dashboard.node)
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
      const stop = async (): Promise<void> => {
        await dashboard.close()
        server.closeAllConnections()
        await new Promise((resolve) => server.close(resolve))
      }
      return { port: (server.address() as AddressInfo).port, stop }
    }
    const first = await start(0)
    const origin = `http://127.0.0.1:${first.port}`
    await using visited = await visit(browser, { origin, role: 'viewer' })
    const { page } = visited
    const liveness = page.locator('.liveness span[role=status]')
    await page.goto(`${origin}/queues`)
    await liveness.filter({ hasText: 'Live' }).waitFor()
    await first.stop()
    await liveness.filter({ hasText: /Connecting|does not answer/ }).waitFor()
    await sluice.jobs.enqueue(welcome)
    const second = await start(first.port)
    await liveness.filter({ hasText: 'Live' }).waitFor()
    await page.getByRole('link', { name: 'mail', exact: true }).waitFor()
    await second.stop()
    admitted = false
    const third = await start(first.port)
    await liveness.filter({ hasText: 'Signed out' }).waitFor()
    await third.stop()
  })
})
