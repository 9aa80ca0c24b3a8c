import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Chip, Facts, Failure, Head, Json, Shown, When } from '../parts.tsx'
import { base } from '../router.ts'
import { useSession } from '../session.ts'
import { duration } from '../figures.ts'
import { capital, clock, words } from '../words.ts'

type Job = Answer<'jobs.get'>['job']

const back = { to: `${base}/jobs`, label: 'Jobs' }

const texts: Record<string, string> = {
  retry: 'It runs again as if it were new.',
  run: 'It runs now instead of later.',
  cancel: 'It ends for good: at once when nobody runs it, else when its handler hears of it.',
  discard: 'It ends for good, as one that has become pointless.',
}
const labels: Record<string, string> = { retry: 'Retry', run: 'Run now', cancel: 'Cancel', discard: 'Discard' }

export function JobPage({ id }: { id: string }): JSX.Element {
  const live = useLive<Answer<'jobs.get'>>(`/jobs/${id}`)
  return (
    <>
      {live.data === undefined && <Head back={back} title={`Job ${id}`} />}
      <Shown live={live}>{({ job }) => <Detail job={job} />}</Shown>
    </>
  )
}

function Verbs({ job }: { job: Job }): JSX.Element {
  const { production } = useSession()
  const ask = (verb: string): void => {
    const danger = verb === 'cancel' || verb === 'discard'
    confirm({
      title: `${labels[verb] ?? verb} job ${job.id}?`,
      text: texts[verb] ?? '',
      verb: labels[verb] ?? verb,
      danger,
      ...(danger && production ? { typed: job.name } : {}),
      reason: true,
      done: `Done: ${words(labels[verb] ?? verb).toLowerCase()} job ${job.id}`,
      run: (reason) =>
        change(`/jobs/${job.id}/${verb}`, { expectedState: job.state, ...(reason === undefined ? {} : { reason }) }),
    })
  }
  return (
    <>
      {job.verbs.map((verb) => (
        <button
          key={verb}
          type="button"
          class={verb === 'discard' || verb === 'cancel' ? 'danger-quiet' : ''}
          onClick={() => ask(verb)}
        >
          {labels[verb] ?? capital(verb)}
        </button>
      ))}
    </>
  )
}

function Detail({ job }: { job: Job }): JSX.Element {
  const { id, name, state, args, error, attempts, reason } = job
  return (
    <>
      <Head
        back={back}
        title={
          <>
            {name} <span class="muted">{id}</span> <Chip state={state} />
          </>
        }
        sentence={
          (reason === null ? undefined : capital(reason)) ??
          (job.parked ? 'Parked: no running worker knows this name.' : undefined)
        }
        actions={<Verbs job={job} />}
      />
      <Failure error={error} />
      <Facts
        of={[
          ['Queue', job.queue],
          ['Priority', job.priority ?? '–'],
          ['Attempt', job.attempt],
          ['Crashes', job.crashes],
          ['Enqueued', <When key="e" at={job.enqueuedAt} />],
          job.runAt !== null && ['Due', <When key="d" at={job.runAt} />],
          job.finishedAt !== null && ['Ended', <When key="f" at={job.finishedAt} />],
          job.waitMs !== null && ['Waited', duration(job.waitMs)],
          job.runMs !== null && ['Ran', duration(job.runMs)],
          job.key !== null && ['Concurrency key', job.key],
          job.tags.length > 0 && ['Tags', job.tags.join(', ')],
          job.traceId !== null && ['Trace', <Trace key="t" id={job.traceId} />],
          job.workerId !== null && ['Worker', <code key="w">{job.workerId.slice(0, 8)}</code>],
        ]}
      />
      <section aria-labelledby="attempts">
        <h2 id="attempts">Attempts that did not succeed</h2>
        {attempts.length === 0 ? <p class="muted">None.</p> : <Attempts attempts={attempts} />}
      </section>
      <section aria-labelledby="args">
        <h2 id="args">Arguments</h2>
        {args === null ? (
          <p class="muted">The args of jobs that succeeded are not kept.</p>
        ) : (
          <Json value={args} label="Arguments" />
        )}
      </section>
    </>
  )
}

/** Its trace, with the way there where one is known. */
function Trace({ id }: { id: string }): JSX.Element {
  const { traces } = useSession()
  const shown = <code>{id.slice(0, 8)}</code>
  if (traces === null) return shown
  return (
    <a href={traces.replace('{traceId}', id)} target="_blank" rel="noreferrer">
      {shown}
    </a>
  )
}

function Attempts({ attempts }: { attempts: Job['attempts'] }): JSX.Element {
  return (
    <ol class="timeline">
      {attempts.map((one) => (
        <li key={`${one.attempt} ${one.at}`}>
          <p>
            <strong>Attempt {one.attempt}</strong> · {clock(one.at)}
            {one.runMs !== null && ` · ran ${duration(one.runMs)}`} · {words(one.verdict)}: {one.reason}
            {one.nextAt !== null && ` · again after ${duration(Date.parse(one.nextAt) - Date.parse(one.at))}`}
          </p>
          <Failure error={one.error} />
        </li>
      ))}
    </ol>
  )
}
