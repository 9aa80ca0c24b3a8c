import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import type { ShopPlace } from './place.ts'

type Scheme = 'light' | 'dark'

/** One picture: of which page, how it looks, and what is done there first. */
export interface Shot {
  file: string
  path: string
  scheme: Scheme
  width: number
  before?: (page: Page) => Promise<void>
  /** A longer page is cut off there. */
  most?: number
}

const desktop = 1_280
const phone = 390
/** The side needs as much. */
const least = 600

type Look = Pick<Shot, 'path' | 'before' | 'most'>

async function plan(page: Page): Promise<void> {
  await page.getByLabel(/inactiveSince/).fill('2025-01-01')
  await page.getByLabel(/^reason/).selectOption('retention')
  await page.getByRole('button', { name: 'Plan and dry run' }).click()
  await page.getByRole('heading', { name: 'Plan' }).waitFor()
}

/** The pages by the names of their pictures. */
function pagesOf(ids: ShopPlace['ids']): Record<string, Look> {
  return {
    operations: { path: 'operations' },
    operation: { path: `operations/${ids.running}` },
    'new-operation': { path: 'new?name=anonymise-customers', before: plan },
    jobs: { path: 'jobs?view=failed', most: 600 },
    job: { path: `jobs/${ids.job}` },
    queues: { path: 'queues', most: 1_060 },
    failed: { path: 'failed' },
    schedules: { path: 'schedules' },
    machines: { path: 'machines' },
    batches: { path: 'batches' },
    workers: { path: 'workers' },
    health: { path: 'health' },
    audit: { path: 'audit', most: 640 },
  }
}

/** More of the pages, to be looked at and not kept. */
function moreOf(ids: ShopPlace['ids']): Record<string, Look> {
  const tabs = ['plan', 'history', 'audit', 'limits', 'arguments'].map((tab): [string, Look] => [
    `operation-${tab}`,
    { path: `operations/${ids.running}?tab=${tab}` },
  ])
  return {
    ...Object.fromEntries(tabs),
    'operation-quarantined': { path: `operations/${ids.quarantined}` },
    about: { path: 'about' },
    'jobs-unfinished': { path: 'jobs' },
    'jobs-succeeded': { path: 'jobs?view=succeeded' },
    'jobs-none': { path: 'jobs?name=nothing' },
    batch: { path: `batches/${ids.batch}` },
    'new-empty': { path: 'new' },
    'operation-missing': { path: 'operations/00000000-0000-7000-8000-000000000000' },
    nowhere: { path: 'nowhere' },
    confirm: {
      path: `operations/${ids.running}`,
      before: (page) => page.getByRole('button', { name: 'Cancel' }).click(),
    },
    'new-confirm': {
      path: 'new?name=anonymise-customers',
      before: async (page) => {
        await plan(page)
        await page.getByRole('button', { name: 'Start' }).click()
      },
    },
    menu: {
      path: 'operations',
      before: (page) =>
        page
          .getByRole('button', { name: 'Menu' })
          .click()
          .catch(() => undefined),
    },
  }
}

/** The pictures that the documents show; with `all`, every page in every way. */
export function shotsOf(ids: ShopPlace['ids'], { all }: { all: boolean }): Shot[] {
  const schemes: readonly Scheme[] = ['light', 'dark']
  const kept = Object.entries(pagesOf(ids))
  const looks = all ? [...kept, ...Object.entries(moreOf(ids))] : kept
  const wide = looks.flatMap(([name, look]) =>
    schemes.map((scheme) => ({ ...look, file: `${name}-${scheme}.png`, scheme, width: desktop })),
  )
  const narrow = (all ? looks : kept.filter(([name]) => ['operation', 'failed'].includes(name))).flatMap(
    ([name, look]) =>
      schemes
        .filter((scheme) => all || scheme === (name === 'failed' ? 'dark' : 'light'))
        .map((scheme) => ({
          ...look,
          file: `${name}-phone-${scheme}.png`,
          scheme,
          width: phone,
          most: all ? 6_000 : 1_400,
        })),
  )
  return [...wide, ...narrow]
}

/** Makes one picture. */
export async function shoot(
  browser: Browser,
  { shot, url, folder }: { shot: Shot; url: string; folder: string },
): Promise<void> {
  const { file, path, scheme, width, before, most = 2_400 } = shot
  const context = await browser.newContext({
    colorScheme: scheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
    viewport: { width, height: least },
  })
  try {
    const page = await context.newPage()
    await page.goto(url)
    await page.locator('main h1').waitFor()
    await page.goto(new URL(path, url).href)
    await page.locator('main h1, main .problem, main .empty').first().waitFor()
    await page.locator('.loading').waitFor({ state: 'detached' })
    await before?.(page)
    // The rate of an operation is known after two looks at it.
    await page.waitForTimeout(path.startsWith('operations/') ? 5_000 : 700)
    // As high as the page, so that the side goes all the way down.
    const height = await page.evaluate<number>('document.documentElement.scrollHeight')
    await page.setViewportSize({ width, height: Math.min(most, Math.max(least, height)) })
    await page.screenshot({ path: join(folder, file) })
  } finally {
    await context.close()
  }
}
