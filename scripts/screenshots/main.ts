// npm run screenshots [-- [--all] [--only jobs-] <folder>]: the pictures of docs/images, of a shop at work on a database
// that is made for it; every page in every way, or those whose names begin so.
import { mkdir } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { serveDashboard } from '../../src/dashboard/index.ts'
import { openBrowser } from '../../test/browser/browser.ts'
import { openShop } from './place.ts'
import { shoot, shotsOf } from './shots.ts'

const root = join(dirname(fileURLToPath(import.meta.url)), '../..')
const { values, positionals } = parseArgs({
  options: { all: { type: 'boolean', default: false }, only: { type: 'string', default: '' } },
  allowPositionals: true,
})
const folder = positionals[0] ?? join(root, 'docs/images')
const say = (line: string): void => void process.stderr.write(`${line}\n`)

await mkdir(folder, { recursive: true })
await using shop = await openShop(say)
// Each picture has a browser of its own, and the address of a start lets in one only.
const authorize = () => ({ user: userInfo().username, role: 'admin' }) as const
await using served = await serveDashboard(shop.sluice, { port: 0, environment: 'production', authorize })
const browser = await openBrowser()
try {
  for (const shot of shotsOf(shop.ids, values)) {
    if (!shot.file.startsWith(values.only)) continue
    await shoot(browser, { shot, url: served.url, folder })
    say(shot.file)
  }
} finally {
  await browser.close()
}
