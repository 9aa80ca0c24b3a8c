import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'

/** A column of a table that people may choose. */
export interface Column<Row> {
  title: string
  /** Shown to who has not chosen. */
  usual: boolean
  class?: string
  cell: (row: Row) => ComponentChildren
  /** The whole text, where the cell may be cut off. */
  whole?: (row: Row) => string
}

/** The columns that somebody wants to see of a table, remembered in this browser. */
export function useColumns<Row>(
  table: string,
  all: readonly Column<Row>[],
): { shown: Column<Row>[]; picker: JSX.Element } {
  const key = `sluice-columns-${table}`
  const [chosen, setChosen] = useState(() => stored(key))
  const shows = ({ title, usual }: Column<Row>): boolean => chosen[title] ?? usual
  const turn = (column: Column<Row>): void => {
    const next = { ...chosen, [column.title]: !shows(column) }
    localStorage.setItem(key, JSON.stringify(next))
    setChosen(next)
  }
  const picker = (
    <details class="columns">
      <summary>Columns</summary>
      <fieldset>
        <legend class="visually-hidden">Columns to show</legend>
        {all.map((column) => (
          <label key={column.title}>
            <input type="checkbox" checked={shows(column)} onChange={() => turn(column)} />
            {column.title}
          </label>
        ))}
      </fieldset>
    </details>
  )
  return { shown: all.filter(shows), picker }
}

function stored(key: string): Record<string, boolean> {
  try {
    return JSON.parse(localStorage.getItem(key) ?? '{}') as Record<string, boolean>
  } catch {
    return {}
  }
}
