import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Chip, Empty, Head, Shown, Spark, Table, When } from '../parts.tsx'
import { base } from '../router.ts'
import { may, useSession } from '../session.ts'
import { capital, count, plural } from '../words.ts'

type Group = Answer<'failures'>['groups'][number]

const heads = [
  'Failure',
  { title: 'Jobs', class: 'number' },
  'Last day',
  'First',
  'Last',
  { title: '', class: 'verbs' },
]

export function FailedPage(): JSX.Element {
  const live = useLive<Answer<'failures'>>('/failed')
  return (
    <>
      <Head title="Failed" sentence="Jobs that will not run again by themselves, grouped by what went wrong." />
      <Shown live={live}>
        {({ groups, looked }) =>
          groups.length === 0 ? (
            <Empty title="Nothing has failed." />
          ) : (
            <>
              <Table label="Failures" heads={heads}>
                {groups.map((group) => (
                  <Row key={group.fingerprint} group={group} />
                ))}
              </Table>
              {looked >= 10_000 && <p class="muted">Of the latest 10,000 failed jobs.</p>}
            </>
          )
        }
      </Shown>
    </>
  )
}

function Row({ group }: { group: Group }): JSX.Element {
  const { name, queue, state, error, reason, jobs, perHour, fingerprint } = group
  const session = useSession()
  return (
    <tr>
      <td class="wide">
        <a class="strong" href={`${base}/jobs?view=failed&name=${encodeURIComponent(name)}&fingerprint=${fingerprint}`}>
          {name}
        </a>{' '}
        <Chip state={state} /> <span class="muted">{queue}</span>
        <div class="under clip-2">{error === null ? reason : `${error.name}: ${error.message}`}</div>
      </td>
      <td class="number">{count(jobs)}</td>
      <td>
        <Spark
          values={perHour}
          label={`${plural(
            perHour.reduce((a, b) => a + b, 0),
            'job',
          )} in the last 24 hours`}
        />
      </td>
      <td>
        <When at={group.firstAt} />
      </td>
      <td>
        <When at={group.lastAt} />
      </td>
      <td class="verbs">{may(session, 'operator') && <Verbs group={group} production={session.production} />}</td>
    </tr>
  )
}

function Verbs({ group, production }: { group: Group; production: boolean }): JSX.Element {
  const { name, jobs, fingerprint } = group
  const ask = (action: 'retry' | 'discard'): void =>
    confirm({
      title: `${capital(action)} ${plural(jobs, 'job')}?`,
      text:
        action === 'retry'
          ? `All ${plural(jobs, 'job')} of this group run again as if they were new. It happens in the background, as a job of its own.`
          : `All ${plural(jobs, 'job')} of this group are marked as discarded. They are kept with the history, and can be retried from there.`,
      verb: `${capital(action)} ${plural(jobs, 'job')}`,
      danger: action === 'discard',
      ...(production && action === 'discard' ? { typed: name } : {}),
      reason: true,
      done: `${capital(action)} of ${plural(jobs, 'job')} has begun`,
      run: (reason) =>
        change(`/failed/${fingerprint}`, { action, expectedJobs: jobs, ...(reason === undefined ? {} : { reason }) }),
    })
  return (
    <>
      <button type="button" onClick={() => ask('retry')}>
        Retry<span class="visually-hidden"> {name}</span>
      </button>
      <button type="button" class="danger-quiet" onClick={() => ask('discard')}>
        Discard<span class="visually-hidden"> {name}</span>
      </button>
    </>
  )
}
