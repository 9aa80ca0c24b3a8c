import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { read, root, rows, sections } from './pages.ts'

const page = sections(read('ARCHITECTURE.md'), 2)

test('the arrows are those that the architecture test enforces', () => {
  const [, matrix = ''] = /const mayImport[^{]*\{([\s\S]*?)\n\}/.exec(read('test/architecture.test.ts')) ?? []
  const enforced = [...matrix.matchAll(/'?([\w/]+)'?: \[([\s\S]*?)\]/g)].map(([, room = '', list = '']) => [
    room,
    [...list.matchAll(/'([^']+)'/g)].map(([, name = '']) => name),
  ]) as [string, string[]][]
  const rooms = new Set(enforced.map(([room]) => room))
  // Packages are in the test only.
  const arrows = enforced.map(([room, names]) => [
    room,
    names.filter((name) => rooms.has(name) || name.endsWith('.ts')),
  ])
  const documented = rows(page.get('The arrows') ?? '').slice(2)
  const listed = documented.map(([room = '', names = '']) => [room, names === 'nothing' ? [] : names.split(', ')])
  expect(rooms.size).toBeGreaterThan(10)
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(arrows))
})

test('the tree names what is there', () => {
  const tree = page.get('The tree') ?? ''
  const entries = readdirSync(`${root}src`, { withFileTypes: true })
  const names = entries.map((entry) => (entry.isDirectory() ? `${entry.name}/` : entry.name))
  expect(names.filter((name) => !tree.includes(`\n  ${name} `))).toEqual([])
})
