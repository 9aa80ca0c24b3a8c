import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import type { Answer } from '../answers.ts'
import { Empty, Table } from './parts.tsx'
import { count, duration, plural } from './figures.ts'

type Stretch = Answer<'operations.records'>['stretches'][number]

/** Five steps from quick to slow, around what most of them took. */
function levelOf({ busyMs }: Stretch, usual: number): number {
  const share = usual === 0 ? 1 : busyMs / usual
  return share < 0.5 ? 0 : share < 0.85 ? 1 : share < 1.3 ? 2 : share < 2 ? 3 : 4
}

const kindOf = ({ failed, running, retried }: Stretch): string =>
  failed > 0 ? 'failed' : running > 0 ? 'running' : retried > 0 ? 'retried' : ''

/** The batches of an operation, one cell each or a few folded, in the order of their keys. */
export function HeatMap({ stretches }: { stretches: readonly Stretch[] }): JSX.Element {
  const [pointed, setPointed] = useState<number>()
  const [pinned, setPinned] = useState<number>()
  const [asTable, setAsTable] = useState(false)
  if (stretches.length === 0) return <Empty title="No batch yet." />
  const slowest = Math.max(...stretches.map(({ busyMs }) => busyMs))
  const usual = stretches.map(({ busyMs }) => busyMs).toSorted((a, b) => a - b)[Math.floor(stretches.length / 2)] ?? 0
  const chosen = pointed ?? pinned
  const at = chosen === undefined ? undefined : stretches[chosen]
  const move = (event: KeyboardEvent): void => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: 20, ArrowUp: -20 }[event.key]
    if (step === undefined) return
    event.preventDefault()
    setPointed(undefined)
    setPinned(Math.min(stretches.length - 1, Math.max(0, (chosen ?? -1) + step)))
  }
  const counts = {
    retried: stretches.filter(({ retried }) => retried > 0).length,
    failed: stretches.filter(({ failed }) => failed > 0).length,
  }
  return (
    <>
      {asTable ? (
        <StretchTable stretches={stretches} />
      ) : (
        <div
          class="heat"
          role="application"
          tabIndex={0}
          onKeyDown={move}
          aria-label={`${plural(stretches.length, 'cell')} in key order; the slowest batch took ${duration(slowest)}; ${counts.retried} with retries, ${counts.failed} failed. Arrow keys go from cell to cell.`}
          onPointerLeave={() => setPointed(undefined)}
        >
          {stretches.map((stretch, index) => (
            <i
              key={stretch.first}
              class={`l${levelOf(stretch, usual)} ${kindOf(stretch)} ${index === chosen ? 'chosen' : ''}`}
              onPointerEnter={() => setPointed(index)}
              onClick={() => setPinned(index === pinned ? undefined : index)}
            />
          ))}
        </div>
      )}
      <div class="heat-foot">
        <p aria-live="polite">
          {at === undefined
            ? `${plural(stretches.length, 'cell')}, ${stretches.some(({ first, last }) => first !== last) ? 'some for several batches' : 'one for each batch'}; the slowest took ${duration(slowest)}. Point at one, or press it to keep it.`
            : storyOf(at)}
        </p>
        {!asTable && <HeatKey />}
        <button type="button" class="quiet" onClick={() => setAsTable(!asTable)}>
          {asTable ? 'Show as map' : 'Show as table'}
        </button>
      </div>
    </>
  )
}

/** What the cells look like, and what that means. */
function HeatKey(): JSX.Element {
  return (
    <ul class="heat-key">
      <li>
        quick
        <span class="heat" aria-hidden="true">
          {[0, 1, 2, 3, 4].map((level) => (
            <i key={level} class={`l${level}`} />
          ))}
        </span>
        slow
      </li>
      {['running', 'retried', 'failed'].map((kind) => (
        <li key={kind}>
          <span class="heat" aria-hidden="true">
            <i class={`l2 ${kind}`} />
          </span>
          {kind}
        </li>
      ))}
    </ul>
  )
}

function storyOf({ first, last, from, to, rows, changed, busyMs, running, retried, failed, error }: Stretch): string {
  const which = first === last ? `Batch ${first}` : `Batches ${first} – ${last}`
  const range = `${from === null ? 'the first key' : from.join(', ')} … ${to.join(', ')}`
  const state = failed > 0 ? '; failed' : running > 0 ? '; running' : retried > 0 ? '; retried' : ''
  return `${which}: keys ${range}; ${count(rows)} rows, ${count(changed)} changed, ${duration(busyMs)}${state}${error === null ? '' : `: ${error.message}`}`
}

function StretchTable({ stretches }: { stretches: readonly Stretch[] }): JSX.Element {
  return (
    <Table
      label="Batches in key order"
      dense
      heads={[
        'Batch',
        'To key',
        { title: 'Rows', class: 'number' },
        { title: 'Changed', class: 'number' },
        { title: 'Time', class: 'number' },
        'Notes',
      ]}
    >
      {stretches.slice(0, 500).map((one) => (
        <tr key={one.first}>
          <td>{one.first === one.last ? one.first : `${one.first} – ${one.last}`}</td>
          <td>
            <code>{one.to.join(', ')}</code>
          </td>
          <td class="number">{count(one.rows)}</td>
          <td class="number">{count(one.changed)}</td>
          <td class="number">{duration(one.busyMs)}</td>
          <td>{kindOf(one)}</td>
        </tr>
      ))}
    </Table>
  )
}
