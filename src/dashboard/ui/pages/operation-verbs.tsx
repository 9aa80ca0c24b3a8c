import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useSession } from '../session.ts'
import { count, plural } from '../figures.ts'
import { capital } from '../words.ts'

export type Operation = Answer<'operations.get'>['operation']

type Verb = 'pause' | 'resume' | 'cancel' | 'approve' | 'retry'

const texts: Record<Verb, { text: (o: Operation) => string; done: string; danger?: boolean }> = {
  pause: {
    text: () => 'It stops after its current sub-batches. Its place and its counters are kept until you resume it.',
    done: 'Pausing',
  },
  resume: { text: () => 'It goes on where it stands.', done: 'Resumed' },
  cancel: {
    text: (o) =>
      `It ends for good after its current sub-batches. ${plural(o.rowsChanged, 'row is', 'rows are')} changed and ${o.rowsChanged === 1 ? 'stays' : 'stay'} so${
        o.rowsEstimate > o.rowsSeen
          ? `; about ${count(o.rowsEstimate - o.rowsSeen)} rows of ${o.table} will not be looked at`
          : ''
      }.`,
    done: 'Cancelling',
    danger: true,
  },
  approve: {
    text: (o) => `It begins to work on ${o.table} as soon as a worker is free.`,
    done: 'Approved',
    danger: true,
  },
  retry: {
    text: (o) =>
      o.rowsQuarantined > 0
        ? `${plural(o.rowsQuarantined, 'row', 'rows')} that could not be processed ${o.rowsQuarantined === 1 ? 'is' : 'are'} taken up again.`
        : 'What is left of it is taken up again.',
    done: 'Taken up again',
  },
}

/** The buttons for what can be done to an operation in its state, by this visitor. */
export function OperationVerbs({ operation, only }: { operation: Operation; only?: readonly Verb[] }): JSX.Element {
  const { production } = useSession()
  const verbs = (Object.keys(texts) as Verb[]).filter(
    (verb) => operation.verbs.includes(verb) && (only === undefined || only.includes(verb)),
  )
  const ask = (verb: Verb): void => {
    const { text, done, danger = false } = texts[verb]
    confirm({
      title: `${capital(verb)} ${operation.name}?`,
      text: text(operation),
      verb: capital(verb),
      danger,
      ...(danger && production ? { typed: operation.name } : {}),
      reason: true,
      done: `${done}: ${operation.name}`,
      run: (reason) =>
        change(`/operations/${operation.id}/${verb}`, {
          expectedState: operation.state,
          ...(reason === undefined ? {} : { reason }),
        }),
    })
  }
  return (
    <>
      {verbs.map((verb) => (
        <button key={verb} type="button" class={verb === 'cancel' ? 'danger-quiet' : ''} onClick={() => ask(verb)}>
          {capital(verb)}
          <span class="visually-hidden"> {operation.name}</span>
        </button>
      ))}
    </>
  )
}
