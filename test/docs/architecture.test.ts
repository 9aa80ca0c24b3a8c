import { existsSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { prose, read, root, rows, sections } from './pages.ts'

const text = read('ARCHITECTURE.md')
const page = sections(text, 2)
const section = (heading: string): string => page.get(heading) ?? ''
const blockIn = (heading: string): string => /^```\n([\s\S]*?)^```$/m.exec(section(heading))?.[1] ?? ''

/** What is directly in a folder of `src`; folders end in a slash. */
const entriesOf = (folder: string): string[] =>
  readdirSync(`${root}src/${folder}`, { withFileTypes: true }).map((entry) =>
    entry.isDirectory() ? `${entry.name}/` : entry.name,
  )

/** Paths that the tree names, from `src` on. */
function pathsInTree(): string[] {
  const [, lines = ''] = /^src\/\n([\s\S]*?)^\S/m.exec(blockIn('The tree')) ?? []
  let parent = ''
  return lines
    .trimEnd()
    .split('\n')
    .map((line) => {
      const [, indent = '', name = ''] = /^( +)(\S+)/.exec(line) ?? []
      if (indent.length === 2) parent = name
      return indent.length === 2 ? name : `${parent}${name}`
    })
}

describe('the tree', () => {
  const named = pathsInTree()

  test('names every file and folder of src', () => {
    expect(entriesOf('').filter((entry) => !named.includes(entry))).toEqual([])
  })

  test.each(['patterns/', 'observe/'])('names every room in %s', (house) => {
    expect(entriesOf(house).filter((entry) => !named.includes(`${house}${entry}`))).toEqual([])
  })

  test('names every folder in a room, except those of the command line', () => {
    const folders = entriesOf('').filter((entry) => entry.endsWith('/') && entry !== 'cli/')
    const inside = folders.flatMap((room) => entriesOf(room).map((entry) => `${room}${entry}`))
    expect(inside.filter((path) => path.endsWith('/') && !named.includes(path))).toEqual([])
  })

  test('names nothing that is not there', () => {
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter((path) => !existsSync(`${root}src/${path}`))).toEqual([])
  })

  test('names main files that open with a page', () => {
    const [, lines = ''] = /^src\/\n([\s\S]*)/m.exec(blockIn('The tree')) ?? []
    const mains = [...lines.matchAll(/^ {2}(\S+\/) .*its page: (\S+)$/gm)].map(
      ([, room = '', file = '']) => room + file,
    )
    expect(mains.length).toBeGreaterThan(3)
    expect(mains.filter((file) => !read(`src/${file}`).startsWith('/**\n'))).toEqual([])
  })
})

describe('the arrows', () => {
  const [, matrix = ''] = /const mayImport[^{]*\{([\s\S]*?)\n\}/.exec(read('test/architecture.test.ts')) ?? []
  const enforced = new Map(
    [...matrix.matchAll(/'?([\w/]+)'?: \[([\s\S]*?)\]/g)].map(([, room = '', list = '']) => [
      room,
      [...list.matchAll(/'([^']+)'/g)].map(([, name = '']) => name),
    ]),
  )
  const rooms = [...enforced.keys()]
  const lines = blockIn('The arrows').trim().split('\n')
  const named = lines.flatMap((line) => line.split(' '))
  const expand = (name: string): string[] =>
    name.endsWith('/*') ? rooms.filter((room) => room.startsWith(name.slice(0, -1)) && !named.includes(room)) : [name]
  const layers = lines.map((line) => line.split(' ').flatMap(expand))

  test('name each room of the architecture test once, and no other', () => {
    expect(rooms.length).toBeGreaterThan(10)
    expect(layers.flat().toSorted()).toEqual(rooms.toSorted())
    const said = [...prose(section('The arrows')).matchAll(/`(\w+)`/g)].map(([, room = '']) => room)
    expect(said.filter((room) => !rooms.includes(room))).toEqual([])
  })

  test('go from a line to those above it, as the architecture test enforces them', () => {
    const layerOf = new Map(layers.flatMap((names, layer) => names.map((name) => [name, layer])))
    // Packages and single files are in the test only.
    const upward = [...enforced].flatMap(([room, names]) =>
      names.filter((name) => (layerOf.get(name) ?? -1) > (layerOf.get(room) ?? -1)).map((name) => `${room} -> ${name}`),
    )
    expect(upward).toEqual([])
  })
})

test('the flows name files, and functions that are in them', () => {
  const flows = section('Four flows')
  const files = [...flows.matchAll(/`([\w/-]+\.ts)`/g)].map(([, file = '']) => file)
  expect(files.filter((file) => !existsSync(`${root}src/${file}`))).toEqual([])
  const steps = [...flows.matchAll(/`([\w.]+)` \(`([\w/-]+\.ts)`\)/g)]
  expect(steps.length).toBeGreaterThan(20)
  const wrong = steps.filter(([, name = '', file = '']) => !declares(read(`src/${file}`), name.split('.')))
  expect(wrong.map(([step]) => step)).toEqual([])
})

/** Whether a file exports a name, or a class with a method of that name. */
function declares(source: string, [first = '', method]: string[]): boolean {
  const exported = new RegExp(`^export (?:async )?(?:function|class|const) ${first}\\b`, 'm').test(source)
  return exported && (method === undefined || new RegExp(`^  (?:async )?${method}[<(]`, 'm').test(source))
}

test('the page is short, and so is its glossary', () => {
  expect(text.trim().split(/\s+/).length).toBeLessThanOrEqual(1_500)
  const words = rows(section('Words')).slice(2)
  expect(words.length).toBeGreaterThan(15)
  expect(words.flatMap(([word = '']) => word.split(', ')).length).toBeLessThanOrEqual(30)
})
