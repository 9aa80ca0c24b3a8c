import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { Empty } from '../parts.tsx'
import type { Operation } from './operation-verbs.tsx'

type Draft = Record<'lanes' | 'pace' | 'subBatchSize' | 'priority' | 'window', string>

const labels: Record<keyof Draft, string> = {
  lanes: 'Lanes',
  pace: 'Pace (0.01 – 1)',
  subBatchSize: 'Rows per sub-batch, at most',
  priority: 'Priority',
  window: 'Window (empty: at any time)',
}

const draftOf = (o: Operation): Draft => ({
  lanes: String(o.lanes),
  pace: String(Math.round(o.pace * 100) / 100),
  subBatchSize: String(o.subBatchSize),
  priority: o.priority,
  window: o.window ?? '',
})

const numbers = ['lanes', 'pace', 'subBatchSize']

/** Limits that hold from the next sub-batch on; old and new are shown before anything changes. */
export function LimitsForm({ operation }: { operation: Operation }): JSX.Element {
  const [draft, setDraft] = useState<Partial<Draft>>({})
  if (!operation.verbs.includes('set'))
    return <Empty title="Limits can be changed while an operation is not over, by an operator." />
  const now = draftOf(operation)
  const keys = Object.keys(labels) as (keyof Draft)[]
  const changed = keys.filter((key) => draft[key] !== undefined && draft[key] !== now[key])
  const save = (): void => {
    const body = Object.fromEntries(
      changed.map((key) => [key, numbers.includes(key) ? Number(draft[key]) : (draft[key] ?? '')]),
    )
    confirm({
      title: `Change limits of ${operation.name}?`,
      text: (
        <ul>
          {changed.map((key) => (
            <li key={key}>
              {labels[key]}: {now[key] || '–'} → <strong>{draft[key] || '–'}</strong>
            </li>
          ))}
        </ul>
      ),
      verb: 'Change',
      reason: true,
      done: 'Limits changed; they hold from the next sub-batch on',
      run: async (reason) => {
        await change(`/operations/${operation.id}/set`, {
          ...body,
          expectedState: operation.state,
          ...(reason === undefined ? {} : { reason }),
        })
        setDraft({})
      },
    })
  }
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        if (changed.length > 0) save()
      }}
    >
      {keys.map((key) => (
        <label key={key}>
          {labels[key]}
          {key === 'priority' ? (
            <select
              value={draft[key] ?? now[key]}
              onChange={(event) => setDraft({ ...draft, [key]: event.currentTarget.value })}
            >
              {['low', 'normal', 'high'].map((word) => (
                <option key={word}>{word}</option>
              ))}
            </select>
          ) : (
            <input
              value={draft[key] ?? now[key]}
              inputMode={numbers.includes(key) ? 'decimal' : 'text'}
              onInput={(event) => setDraft({ ...draft, [key]: event.currentTarget.value })}
            />
          )}
        </label>
      ))}
      <div class="form-actions">
        <button type="submit" class="primary" disabled={changed.length === 0}>
          Change limits
        </button>
      </div>
    </form>
  )
}
