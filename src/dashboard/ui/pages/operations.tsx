import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Icon } from '../icons.tsx'
import { useLive } from '../live.ts'
import { Bar, Chip, Empty, Head, Shown, Table, When } from '../parts.tsx'
import { base, go, usePlace, withQuery } from '../router.ts'
import { may, useSession } from '../session.ts'
import { brief, capital, count, duration, percent, toneOf } from '../words.ts'
import { OperationVerbs, type Operation } from './operation-verbs.tsx'

const tabs = ['all', 'running', 'waiting', 'stopped', 'failed', 'done'] as const
const heads = [
  'Operation',
  'State',
  { title: 'Progress', class: 'wide' },
  { title: 'Changed', class: 'number' },
  { title: 'Left', class: 'number' },
  'Started',
  { title: '', class: 'verbs' },
]

export function OperationsPage(): JSX.Element {
  const place = usePlace()
  const session = useSession()
  const show = tabs.find((tab) => tab === place.query.get('show')) ?? 'all'
  const name = place.query.get('name') ?? ''
  const query = new URLSearchParams({
    ...(show === 'all' ? {} : { show }),
    ...(name === '' ? {} : { name }),
  }).toString()
  const live = useLive<Answer<'operations'>>(`/operations${query === '' ? '' : `?${query}`}`)
  return (
    <>
      <Head
        title="Operations"
        sentence="Changes over whole tables, batch by batch."
        actions={
          may(session, 'operator') && (
            <a class="button primary" href={`${base}/new`}>
              <Icon name="plus" /> New operation
            </a>
          )
        }
      />
      <div class="filters">
        <nav class="tabs" aria-label="Operations by state">
          {tabs.map((tab) => (
            <a
              key={tab}
              href={base + withQuery(place, { show: tab === 'all' ? undefined : tab })}
              aria-current={tab === show ? 'page' : undefined}
            >
              {capital(tab)}{' '}
              <span class="tally">
                {live.data === undefined ? '' : live.data.tallies[tab] >= 1_000 ? '1,000+' : live.data.tallies[tab]}
              </span>
            </a>
          ))}
        </nav>
        <input
          class="search"
          type="search"
          aria-label="Name of the operation"
          placeholder="Name"
          value={name}
          onChange={(event) => go(withQuery(place, { name: event.currentTarget.value.trim() }), { replace: true })}
        />
      </div>
      <Shown live={live}>
        {({ operations, more }) =>
          operations.length === 0 ? (
            <NoOperations filtered={query !== ''} />
          ) : (
            <>
              <Table label="Operations" heads={heads}>
                {operations.map((operation) => (
                  <Row key={operation.id} operation={operation} />
                ))}
              </Table>
              {more && <p class="muted">There are more. Narrow the list by name or state.</p>}
            </>
          )
        }
      </Shown>
    </>
  )
}

function Row({ operation }: { operation: Operation }): JSX.Element {
  const { id, name, table, tenant, state, progress, rowsSeen, rowsEstimate, rowsChanged, eta } = operation
  return (
    <tr>
      <td>
        <a class="strong" href={`${base}/operations/${id}`}>
          {name}
        </a>
        <div class="under">
          {table}
          {tenant !== null && ` · ${tenant}`}
        </div>
      </td>
      <td>
        <Chip state={state} />
        {(operation.parked || operation.disabled) && (
          <div class="under warn-text">{operation.parked ? 'parked' : 'disabled'}</div>
        )}
      </td>
      <td class="wide">
        <Bar share={progress} tone={toneOf(state)} label={`Progress of ${name}`} />
        <div class="under">
          {progress === undefined ? 'no estimate' : percent(progress)} · {brief(rowsSeen)}
          {rowsEstimate > 0 && ` of ~${brief(Math.max(rowsSeen, rowsEstimate))}`} rows
        </div>
      </td>
      <td class="number">{count(rowsChanged)}</td>
      <td class="number">{eta === undefined ? <span class="muted">–</span> : leftOf(eta)}</td>
      <td>
        <When at={operation.startedAt ?? operation.createdAt} />
      </td>
      <td class="verbs">
        <OperationVerbs operation={operation} only={['pause', 'resume', 'approve']} />
      </td>
    </tr>
  )
}

/** How long the rest takes, as a range. */
export function leftOf(eta: NonNullable<Operation['eta']>): string {
  const [least, most] = [duration(eta.lowMs), duration(eta.highMs)]
  return least === most ? least : `${least} – ${most}`
}

function NoOperations({ filtered }: { filtered: boolean }): JSX.Element {
  if (filtered) return <Empty title="No operation fits this filter." />
  return (
    <Empty title="No operation yet.">
      <p>An operation deletes, archives or changes many rows of a table while your application goes on.</p>
      <p>
        Define one in <code>sluice.config.ts</code>, then start it here or with
      </p>
      <pre>sluice ops start expire-events</pre>
    </Empty>
  )
}
