import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Chip, Empty, Head, Shown, Table, When } from '../parts.tsx'
import { base, go, usePlace, withQuery, type Place } from '../router.ts'
import { Choice, useSelection } from '../selection.tsx'
import { duration } from '../figures.ts'
import { capital } from '../words.ts'
import { JobActions } from './job-selection.tsx'

type Job = Answer<'jobs'>['jobs'][number]

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
  ['name', 'Name'],
  ['queue', 'Queue'],
  ['tag', 'Tag'],
] as const

export function JobsPage(): JSX.Element {
  const place = usePlace()
  const { query } = place
  const view = (Object.keys(views) as View[]).find((one) => one === query.get('view')) ?? 'unfinished'
  const asked = new URLSearchParams({ states: views[view] })
  for (const key of ['name', 'queue', 'tag', 'before', 'within', 'fingerprint']) {
    const value = query.get(key)
    if (value !== null && value !== '') asked.set(key, value)
  }
  const live = useLive<Answer<'jobs'>>(`/jobs?${asked.toString()}`)
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
              <JobTable jobs={jobs} view={view} />
              <nav class="pages" aria-label="Pages">
                {query.get('before') !== null && <a href={base + withQuery(place, { before: undefined })}>Latest</a>}
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
      {fields.map(([key, label], at) => (
        <input
          key={key}
          class={at === 0 ? 'search' : ''}
          aria-label={label}
          placeholder={label}
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

function JobTable({ jobs, view }: { jobs: readonly Job[]; view: View }): JSX.Element {
  const over = view === 'succeeded' || view === 'failed'
  const selection = useSelection(jobs.map(({ id }) => id))
  const choosing = jobs.some(({ verbs }) => verbs.length > 0)
  const heads = [
    ...(choosing ? [{ title: 'Chosen', class: 'choice' }] : []),
    'Id',
    'Job',
    'State',
    'Queue',
    { title: 'Attempt', class: 'number' },
    over ? 'Ended' : 'Due',
    view === 'succeeded' ? 'Wait · run' : 'Note',
  ]
  return (
    <>
      {choosing && <JobActions jobs={jobs} selection={selection} />}
      <Table label="Jobs" heads={heads}>
        {jobs.map((job) => (
          <tr key={job.id} class={choosing && selection.has(job.id) ? 'chosen' : ''}>
            {choosing && <Choice of={selection} value={job.id} label={`Choose job ${job.id}`} />}
            <td class="number-left">
              <a href={`${base}/jobs/${job.id}`}>{job.id}</a>
            </td>
            <td class="strong">{job.name}</td>
            <td>
              <Chip state={job.state} />
              {job.parked && !over && <div class="under warn-text">parked</div>}
            </td>
            <td>{job.queue}</td>
            <td class="number">{job.attempt}</td>
            <td>
              <When at={over ? job.finishedAt : (job.runAt ?? job.enqueuedAt)} />
            </td>
            <td class="wide clip" title={noteOf(job)}>
              {noteOf(job)}
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function noteOf({ error, reason, key, tags, waitMs, runMs }: Job): string {
  if (waitMs !== null && runMs !== null) return `${duration(waitMs)} · ${duration(runMs)}`
  if (error !== null) return `${error.name}: ${error.message}`
  return reason ?? [...(key === null ? [] : [`key ${key}`]), ...tags.map((tag) => `#${tag}`)].join(' ')
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
