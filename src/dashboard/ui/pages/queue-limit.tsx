import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { count, duration } from '../figures.ts'

type Queue = Answer<'queues'>['queues'][number]

const spans = [
  ['1s', 'second', 1_000],
  ['1m', 'minute', 60_000],
  ['1h', 'hour', 3_600_000],
] as const

/** A limit in words. */
export function limitOf({ rate }: Queue): string {
  if (rate === null) return 'none'
  const span = spans.find(([, , ms]) => ms === rate.perMs)
  return `${count(rate.limit)} per ${span?.[1] ?? duration(rate.perMs)}`
}

/** Asks how many jobs of a queue may start per time. */
export function askLimit(queue: Queue): void {
  const { name, rate } = queue
  const draft = {
    limit: rate === null ? '' : String(rate.limit),
    per: spans.find(([, , ms]) => ms === rate?.perMs)?.[0] ?? '1m',
  }
  confirm({
    title: `Limit queue ${name}?`,
    text: (
      <>
        <p>
          So many of its jobs may start per time, in all workers together. Now: {limitOf(queue)}. Running ones go on.
        </p>
        <LimitFields draft={draft} />
      </>
    ),
    verb: 'Set limit',
    reason: true,
    done: `The limit of queue ${name} is set`,
    run: async (reason) => {
      const limit = draft.limit.trim() === '' ? undefined : Number(draft.limit)
      if (limit !== undefined && !(Number.isInteger(limit) && limit > 0)) {
        throw new Error('The limit is a whole number from 1, or empty for none.')
      }
      await change(`/queues/${encodeURIComponent(name)}/limit`, {
        ...(limit === undefined ? {} : { limit, per: draft.per }),
        ...(reason === undefined ? {} : { reason }),
      })
    },
  })
}

/** What is typed stays in the draft: the dialog that asks keeps nothing of it. */
function LimitFields({ draft }: { draft: { limit: string; per: string } }): JSX.Element {
  return (
    <div class="pair">
      <label>
        Jobs, at most
        <input
          defaultValue={draft.limit}
          inputMode="numeric"
          placeholder="no limit"
          onInput={(event) => {
            draft.limit = event.currentTarget.value
          }}
        />
      </label>
      <label>
        Per
        <select
          defaultValue={draft.per}
          onChange={(event) => {
            draft.per = event.currentTarget.value
          }}
        >
          {spans.map(([value, word]) => (
            <option key={value} value={value} selected={value === draft.per}>
              {word}
            </option>
          ))}
        </select>
      </label>
    </div>
  )
}
