import { existsSync, readdirSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'
import { pages, prose, read, root } from './pages.ts'

/** The anchor that hosting platforms give a heading. */
const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-')

const anchors = (page: string): string[] =>
  [...prose(read(page)).matchAll(/^#+ (.*)$/gm)].map(([, text = '']) => anchorOf(text))

/** The pictures that a page shows, as paths from the root. */
const pictures = (page: string): string[] =>
  [...prose(read(page)).matchAll(/(?:src|srcset)="([^"]+)"/g)].map(([, path = '']) =>
    normalize(join(dirname(page), path)),
  )

function brokenLinks(page: string): string[] {
  const links = [...prose(read(page)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  return links.filter((link) => {
    if (/^https?:/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const target = path === '' ? page : normalize(join(dirname(page), path))
    if (!existsSync(join(root, target))) return true
    return anchor !== undefined && !anchors(target).includes(anchor)
  })
}

test.each(pages)('%s has no broken link', (page) => {
  expect(brokenLinks(page)).toEqual([])
})

test('every picture that is shown is there, and every one that is there is shown', () => {
  const there = readdirSync(join(root, 'docs/images')).map((file) => `docs/images/${file}`)
  expect([...new Set(pages.flatMap(pictures))].toSorted()).toEqual(there.toSorted())
})

test('every page below docs is in its index', () => {
  const index = read('docs/README.md')
  const below = pages.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md')
  expect(below.filter((page) => !index.includes(`(${page.slice('docs/'.length)})`))).toEqual([])
})

test('the README is short', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(250)
})

test.each(pages)('%s promises nothing that cannot be kept', (page) => {
  expect(read(page)).not.toMatch(/exactly[- ]once delivery/i)
})

test('tests that a page names by their words are there', () => {
  const named = pages
    .filter((page) => page.startsWith('docs/internals/'))
    .flatMap((page) =>
      [...prose(read(page)).matchAll(/\]\(([^)\s]+\.test\.ts)\): ([^|\n;.…]+)/g)].map(([, link = '', words = '']) => ({
        page,
        file: normalize(join(dirname(page), link)),
        words: words.trim(),
      })),
    )
  expect(named.length).toBeGreaterThan(20)
  expect(named.filter(({ file, words }) => !read(file).includes(words))).toEqual([])
})
