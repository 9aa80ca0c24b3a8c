import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Icon } from '../icons.tsx'
import { useLive } from '../live.ts'
import { Bar, Chip, Empty, Head, Shown, Table, When } from '../parts.tsx'
import { base, go, usePlace, withQuery } from '../router.ts'
import { may, useSession } from '../session.ts'
import { brief, count, percent, range } from '../figures.ts'
import { capital, toneOf } from '../words.ts'
import { OperationVerbs, type Operation } from './operation-verbs.tsx'
import { useRate } from './rate.ts'

const tabs = ['all', 'running', 'waiting', 'stopped', 'failed', 'done'] as const
const heads = [
  { title: 'Operation', class: 'name' },
  { title: 'State', class: 'wide' },
  { title: 'Progress', class: 'wide' },
  { title: 'Time left', class: 'number' },
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
  const rate = useRate(operation)
  return (
    <tr>
      <td class="name">
        <a class="strong" href={`${base}/operations/${id}`}>
          {name}
        </a>
        <div class="under">
          {table}
          {tenant !== null && ` · ${tenant}`}
        </div>
      </td>
      <td class="wide">
        <Chip state={state} />
        <Standing operation={operation} />
      </td>
      <td class="wide">
        <Bar share={progress} tone={toneOf(state)} label={`Progress of ${name}`} />
        <div class="under">
          {progress === undefined ? 'no estimate' : percent(progress)} · {brief(rowsSeen)}
          {rowsEstimate > 0 && ` of ~${brief(Math.max(rowsSeen, rowsEstimate))}`} rows
        </div>
        <div class="under">{count(rowsChanged)} changed</div>
      </td>
      <td class="number">
        {eta === undefined ? <span class="muted">–</span> : leftOf(eta)}
        {rate !== undefined && <div class="under">{count(rate)} rows/s</div>}
      </td>
      <td>
        <When at={operation.startedAt ?? operation.createdAt} />
        {operation.actor !== null && <div class="under clip">by {operation.actor}</div>}
      </td>
      <td class="verbs">
        <OperationVerbs operation={operation} only={['pause', 'resume', 'approve']} />
      </td>
    </tr>
  )
}

/** Why it stands where it stands: what a person should look at, why it was stopped, what keeps it from going faster. */
function Standing({ operation }: { operation: Operation }): JSX.Element | null {
  const { parked, disabled, reason, limitedBy, finishedAt } = operation
  if (finishedAt === null && (parked || disabled)) {
    return <div class="under warn-text">{parked ? 'parked: no worker knows it' : 'disabled'}</div>
  }
  const why = reason ?? (finishedAt === null ? limitedBy : '')
  return why === '' ? null : <div class="under clip-2 standing">{why}</div>
}

/** How long the rest takes, as a range. */
export const leftOf = ({ lowMs, highMs }: NonNullable<Operation['eta']>): string => range(lowMs, highMs)

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
