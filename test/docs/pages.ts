import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const root: string = fileURLToPath(new URL('../../', import.meta.url))

export const read = (path: string): string => readFileSync(`${root}${path}`, 'utf8')

/** Every document of the repository, by its path from the root. */
export const pages: string[] = [
  ...readdirSync(root).filter((name) => name.endsWith('.md')),
  ...readdirSync(`${root}docs`, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** The sections below headings of one level, by the text of the heading without its code marks. */
export function sections(text: string, level: number): Map<string, string> {
  const parts = text.split(new RegExp(`^#{${level}} `, 'm')).slice(1)
  return new Map(
    parts.map((part) => {
      const [heading = '', ...rest] = part.split('\n')
      return [heading.replaceAll('`', '').trim(), rest.join('\n')]
    }),
  )
}

/** The cells of the tables in a text, row by row, heads included. */
export function rows(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('|'))
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}

/** The text without code blocks, in which nothing is a link or a heading. */
export const prose = (text: string): string => text.replace(/^```[\s\S]*?^```$/gm, '')
