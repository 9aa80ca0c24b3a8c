import { printable } from '../index.ts'
import type { Line, Part } from './output.ts'

/** A column of a table. */
export interface Column {
  title: string
  /** Numbers stand under each other at their last digit. */
  align?: 'right'
  /** It may be cut down to this many characters. */
  least?: number
  /** Where space is short, the column with the lowest number goes first. */
  dispensable?: number
}

interface Sized extends Column {
  at: number
  width: number
}

const gap = '  '

/** Rows in columns. Where they are wider than `width`, cells are cut, then whole columns left out. */
export function tableLines(
  columns: readonly Column[],
  rows: readonly (readonly Part[])[],
  width = Number.POSITIVE_INFINITY,
): Line[] {
  const natural = columns.map((column, at): Sized => {
    const widths = rows.map((row) => textOf(row[at] ?? '').length)
    return { ...column, at, width: Math.max(column.title.length, ...widths) }
  })
  const fitted = fit(natural, width)
  const lineOf = (cells: readonly Part[]): Line =>
    fitted.flatMap((column, n) => {
      const cell = place(cells[column.at] ?? '', column, n === fitted.length - 1)
      return n === 0 ? [cell] : [gap, cell]
    })
  return [lineOf(columns.map(({ title }): Part => ['dim', title])), ...rows.map(lineOf)]
}

function fit(columns: readonly Sized[], width: number): readonly Sized[] {
  const shrunk = shrink(columns, width)
  if (totalOf(shrunk) <= width) return shrunk
  const dispensable = columns.filter((column) => column.dispensable !== undefined)
  if (dispensable.length === 0) return shrunk
  const least = Math.min(...dispensable.map((column) => column.dispensable ?? 0))
  return fit(
    columns.filter((column) => column.dispensable !== least),
    width,
  )
}

/** Takes from the column that has most to give, until all fit or none can give. */
function shrink(columns: readonly Sized[], width: number): readonly Sized[] {
  const sized = columns.map((column) => ({ ...column }))
  const spare = ({ width: now, least = now, title }: Sized): number => now - Math.max(least, title.length)
  for (let excess = totalOf(sized) - width; excess > 0; excess--) {
    const [widest] = sized.toSorted((a, b) => spare(b) - spare(a))
    if (widest === undefined || spare(widest) <= 0) break
    widest.width--
  }
  return sized
}

function totalOf(columns: readonly Sized[]): number {
  return columns.reduce((total, { width }) => total + width, gap.length * Math.max(0, columns.length - 1))
}

function place(cell: Part, { width, align }: Sized, last: boolean): Part {
  const text = cut(textOf(cell), width)
  const placed = align === 'right' ? text.padStart(width) : last ? text : text.padEnd(width)
  return typeof cell === 'string' ? placed : [cell[0], placed]
}

/** The text of a cell: one line, in the characters in which it will be shown. */
function textOf(cell: Part): string {
  return oneLine(typeof cell === 'string' ? cell : cell[1])
}

/** Messages of databases and parsers go over several lines. */
export function oneLine(text: string): string {
  return printable(text.replaceAll(/\s+/g, ' ').trim())
}

/** Text of at most this length; an ellipsis says that something is missing. */
function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/** A sentence at the head of an answer. */
export function headLines(text: string, width = Number.POSITIVE_INFINITY): Line[] {
  return wrapWords(oneLine(text), width).map((line): Line => [['bold', line]])
}

/** Labels and their texts below each other; a text that is too long goes on under its beginning. */
export function labelledLines(pairs: readonly (readonly [string, Part])[], width = Number.POSITIVE_INFINITY): Line[] {
  const indent = Math.max(...pairs.map(([label]) => label.length)) + 4
  return pairs.flatMap(([label, part]) => {
    const lines = wrapWords(textOf(part), width - indent)
    return lines.map((text, n): Line => {
      const head = `  ${n === 0 ? label : ''}`.padEnd(indent)
      return [['dim', head], typeof part === 'string' ? text : [part[0], text]]
    })
  })
}

/** Text in lines that fit where its words do; no word is torn, so that what is long can still be copied. */
export function wrapWords(text: string, width: number): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(word)
  }
  return lines
}
