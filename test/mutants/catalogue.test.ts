import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { mutants } from './catalogue.ts'

const read = (file: string): string => readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')

test('each planted bug has a name of its own', () => {
  const names = mutants.map(({ name }) => name)
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})

test('the text that each planted bug breaks is there exactly once', () => {
  const stale = mutants.flatMap(({ name, edits }) =>
    edits.filter(({ file, from }) => read(file).split(from).length !== 2).map(({ file }) => `${name} in ${file}`),
  )
  expect(stale).toEqual([])
})
