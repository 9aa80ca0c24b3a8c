import { randomUUID } from 'node:crypto'
import { createReadStream, createWriteStream, existsSync } from 'node:fs'
import { link, mkdir, readFile, rm } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { createBrotliDecompress } from 'node:zlib'
import { chromium as playwright, type Browser, type Page } from 'playwright-core'
import { patiently } from '../support/patience.ts'

const require = createRequire(import.meta.url)
const axeFile = require.resolve('axe-core/axe.min.js')

/** A browser from an npm package: no download, no installation, also as root. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = await unpacked().catch((error: unknown) => {
    throw new Error('The browser of @sparticuz/chromium cannot be unpacked. Run "npm ci" again.', { cause: error })
  })
  return playwright.launch({
    executablePath,
    headless: true,
    args: ['--no-sandbox', '--disable-gpu', '--font-render-hinting=none'],
  })
}

/**
 * The browser as a file. It appears whole or not at all, and is never replaced: several test files may come here at
 * once, and a browser whose own file is gone cannot start its processes.
 */
async function unpacked(): Promise<string> {
  const home = require.resolve('@sparticuz/chromium').replace(/(.*@sparticuz.chromium).*/, '$1')
  const cache = join(home, '..', '..', '.cache', 'chromium')
  const { version } = JSON.parse(await readFile(join(home, 'package.json'), 'utf8')) as { version: string }
  const browser = join(cache, version)
  if (existsSync(browser)) return browser
  await mkdir(cache, { recursive: true })
  const partly = `${browser}-${randomUUID()}`
  const packed = createReadStream(join(home, 'bin', 'chromium.br'))
  await pipeline(packed, createBrotliDecompress(), createWriteStream(partly, { mode: 0o755 }))
  await link(partly, browser).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(partly)
  return browser
}

/** A page of somebody with a role; whatever goes wrong on it is collected. */
export interface Visit extends AsyncDisposable {
  page: Page
  problems: string[]
}

export async function visit(
  browser: Browser,
  {
    origin,
    role,
    scheme = 'light',
    width = 1280,
  }: { origin: string; role?: string; scheme?: 'light' | 'dark'; width?: number },
): Promise<Visit> {
  const context = await browser.newContext({
    colorScheme: scheme,
    locale: 'en-GB',
    viewport: { width, height: 860 },
    bypassCSP: false,
  })
  context.setDefaultTimeout(patiently(60_000))
  if (role !== undefined) await context.addCookies([{ name: 'role', value: role, url: origin }])
  const page = await context.newPage()
  const problems: string[] = []
  page.on('pageerror', (error) => problems.push(`error on the page: ${error.message}`))
  page.on('request', (request) => {
    if (!request.url().startsWith(origin) && !request.url().startsWith('data:'))
      problems.push(`request to ${request.url()}`)
  })
  page.on('console', (message) => {
    if (/Content Security Policy/.test(message.text())) problems.push(message.text())
  })
  return { page, problems, [Symbol.asyncDispose]: () => context.close() }
}

interface AxeResults {
  violations: { id: string; nodes: { html: string; failureSummary?: string }[] }[]
}

/** What axe finds wrong on a page by WCAG 2.2 AA. */
export async function axe(page: Page): Promise<string[]> {
  // The page's own policy lets no foreign script in; the tool comes by another way.
  await page.evaluate(await readFile(axeFile, 'utf8'))
  const { violations } = await page.evaluate(
    (tags) =>
      (globalThis as unknown as { axe: { run(options: object): Promise<AxeResults> } }).axe.run({ runOnly: tags }),
    ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'],
  )
  return violations.flatMap(({ id, nodes }) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary ?? ''}`),
  )
}
