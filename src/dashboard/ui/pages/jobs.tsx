import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Empty, Head, Shown } from '../parts.tsx'
import { base, go, usePlace, withQuery, type Place } from '../router.ts'
import { capital } from '../words.ts'
import { JobTable } from './job-table.tsx'

/** Unfinished, succeeded and failed jobs are kept apart, and are asked for apart. */
const views = {
  unfinished: 'waiting,scheduled,blocked,running',
  running: 'running',
  waiting: 'waiting',
  scheduled: 'scheduled',
  blocked: 'blocked',
  succeeded: 'succeeded',
  failed: 'dead,discarded,cancelled,quarantined',
} as const
type View = keyof typeof views

const fields = [
  ['name', 'Name', 'Name'],
  ['queue', 'Queue', 'Queue'],
  ['tag', 'Tag', 'Tag'],
  ['arg', 'Something in the args, with a name: key=value', 'key=value'],
] as const

export function JobsPage(): JSX.Element {
  const place = usePlace()
  const { query } = place
  const view = (Object.keys(views) as View[]).find((one) => one === query.get('view')) ?? 'unfinished'
  const asked = new URLSearchParams({ states: views[view] })
  for (const key of ['name', 'queue', 'tag', 'arg', 'within', 'fingerprint']) {
    const value = query.get(key)
    if (value !== null && value !== '') asked.set(key, value)
  }
  const page = new URLSearchParams(asked)
  const before = query.get('before')
  if (before !== null && before !== '') page.set('before', before)
  const live = useLive<Answer<'jobs'>>(`/jobs?${page.toString()}`)
  return (
    <>
      <Head title="Jobs" sentence="Background work, one row each; latest first." />
      <div class="filters">
        <nav class="tabs" aria-label="Jobs by state">
          {(Object.keys(views) as View[]).map((one) => (
            <a
              key={one}
              href={
                base +
                withQuery(place, {
                  view: one === 'unfinished' ? undefined : one,
                  before: undefined,
                  fingerprint: undefined,
                })
              }
              aria-current={one === view ? 'page' : undefined}
            >
              {capital(one)}
            </a>
          ))}
        </nav>
        <Filters place={place} view={view} />
      </div>
      <Shown live={live}>
        {({ jobs, next }) =>
          jobs.length === 0 ? (
            <NoJobs view={view} filtered={asked.size > 1} />
          ) : (
            <>
              <JobTable
                jobs={jobs}
                over={view === 'succeeded' || view === 'failed'}
                others={next === null && before === null ? undefined : asked}
              />
              <nav class="pages" aria-label="Pages">
                {before !== null && <a href={base + withQuery(place, { before: undefined })}>Latest</a>}
                {next !== null && <a href={base + withQuery(place, { before: String(next) })}>Older</a>}
              </nav>
            </>
          )
        }
      </Shown>
    </>
  )
}

function Filters({ place, view }: { place: Place; view: View }): JSX.Element {
  const set = (key: string, value: string): void =>
    go(withQuery(place, { [key]: value, before: undefined }), { replace: true })
  return (
    <form
      class="filter-fields"
      role="search"
      onSubmit={(event) => {
        event.preventDefault()
        const id = new FormData(event.currentTarget).get('id')
        if (typeof id === 'string' && /^\d+$/.test(id)) go(`/jobs/${id}`)
      }}
    >
      {fields.map(([key, label, hint], at) => (
        <input
          key={key}
          class={at === 0 ? 'search' : ''}
          aria-label={label}
          placeholder={hint}
          value={place.query.get(key) ?? ''}
          onChange={(event) => set(key, event.currentTarget.value.trim())}
        />
      ))}
      <input name="id" aria-label="Id of a job, then Enter" placeholder="Id" inputMode="numeric" class="narrow" />
      {view === 'succeeded' && (
        <select
          aria-label="How far back"
          value={place.query.get('within') ?? '1h'}
          onChange={(event) => set('within', event.currentTarget.value)}
        >
          {['10m', '1h', '6h', '24h', '7d'].map((span) => (
            <option key={span} value={span}>
              last {span}
            </option>
          ))}
        </select>
      )}
    </form>
  )
}

function NoJobs({ view, filtered }: { view: View; filtered: boolean }): JSX.Element {
  if (filtered) return <Empty title="No job fits this filter." />
  if (view === 'failed') return <Empty title="No job has failed." />
  return (
    <Empty title={view === 'succeeded' ? 'No job succeeded in this time.' : 'Nothing is waiting.'}>
      <p>
        Jobs appear here when your application calls <code>sluice.jobs.enqueue</code>.
      </p>
    </Empty>
  )
}
