import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { plural } from './figures.ts'

/** What a person has chosen on a page. */
export interface Selection<Key> {
  /** The chosen ones that are still shown. */
  chosen: Key[]
  has: (key: Key) => boolean
  turn: (key: Key) => void
  turnAll: () => void
  clear: () => void
  all: boolean
}

/** A choice among what is shown. What disappears from the page is not chosen any more: nobody sees it. */
export function useSelection<Key>(shown: readonly Key[]): Selection<Key> {
  const [keys, setKeys] = useState<ReadonlySet<Key>>(new Set())
  const chosen = shown.filter((key) => keys.has(key))
  const all = chosen.length === shown.length && shown.length > 0
  return {
    chosen,
    all,
    has: (key) => keys.has(key),
    turn: (key) => setKeys(new Set(keys.has(key) ? chosen.filter((one) => one !== key) : [...chosen, key])),
    turnAll: () => setKeys(new Set(all ? [] : shown)),
    clear: () => setKeys(new Set()),
  }
}

/** The box in front of a row. */
export function Choice<Key>({
  of: selection,
  value,
  label,
}: {
  of: Selection<Key>
  value: Key
  label: string
}): JSX.Element {
  return (
    <td class="choice">
      <input type="checkbox" aria-label={label} checked={selection.has(value)} onChange={() => selection.turn(value)} />
    </td>
  )
}

/** The box for all rows of the page, how many are chosen, and what can be done to them. */
export function ChoiceBar<Key>({
  of: selection,
  noun,
  children,
}: {
  of: Selection<Key>
  noun: string
  children: ComponentChildren
}): JSX.Element {
  const { chosen, all, turnAll } = selection
  return (
    <div class="choice-bar">
      <label>
        <input
          type="checkbox"
          checked={all}
          ref={(box) => {
            if (box !== null) box.indeterminate = !all && chosen.length > 0
          }}
          onChange={turnAll}
        />
        All on this page
      </label>
      {chosen.length > 0 && (
        <>
          <span class="muted" role="status">
            {plural(chosen.length, noun)} chosen
          </span>
          <span class="actions">{children}</span>
        </>
      )}
    </div>
  )
}
