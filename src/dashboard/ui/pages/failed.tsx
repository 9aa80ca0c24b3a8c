import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm, type Question } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Chip, Empty, Head, Shown, Spark, Table, When } from '../parts.tsx'
import { base } from '../router.ts'
import { Choice, ChoiceBar, useSelection, type Selection } from '../selection.tsx'
import { may, useSession } from '../session.ts'
import { count, plural } from '../figures.ts'
import { capital } from '../words.ts'

type Group = Answer<'failures'>['groups'][number]

const heads = [
  { title: 'Chosen', class: 'choice' },
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
              <Groups groups={groups} />
              {looked >= 10_000 && <p class="muted">Of the latest 10,000 failed jobs.</p>}
            </>
          )
        }
      </Shown>
    </>
  )
}

function Groups({ groups }: { groups: readonly Group[] }): JSX.Element {
  const session = useSession()
  const selection = useSelection(groups.map(({ fingerprint }) => fingerprint))
  const choosing = may(session, 'operator')
  return (
    <>
      {choosing && <GroupActions groups={groups} selection={selection} production={session.production} />}
      <Table label="Failures" heads={choosing ? heads : heads.slice(1)}>
        {groups.map((group) => (
          <Row key={group.fingerprint} group={group} selection={choosing ? selection : undefined} />
        ))}
      </Table>
    </>
  )
}

function GroupActions({
  groups,
  selection,
  production,
}: {
  groups: readonly Group[]
  selection: Selection<string>
  production: boolean
}): JSX.Element {
  const chosen = groups.filter(({ fingerprint }) => selection.has(fingerprint))
  const jobs = chosen.reduce((sum, group) => sum + group.jobs, 0)
  const number = plural(jobs, 'job')
  const ask = (action: 'retry' | 'discard'): void =>
    confirm({
      ...question(action, `${number} in ${plural(chosen.length, 'group')}`),
      ...(production ? { typed: `${action} ${jobs}` } : {}),
      run: async (reason) => {
        const fingerprints = chosen.map(({ fingerprint }) => fingerprint)
        await change('/failed', {
          action,
          fingerprints,
          expectedJobs: jobs,
          ...(reason === undefined ? {} : { reason }),
        })
        selection.clear()
      },
    })
  return (
    <ChoiceBar of={selection} noun="group">
      <button type="button" onClick={() => ask('retry')}>
        Retry {number}
      </button>
      <button type="button" class="danger-quiet" onClick={() => ask('discard')}>
        Discard {number}
      </button>
    </ChoiceBar>
  )
}

/** What is asked before many jobs are taken up again or given up. */
function question(action: 'retry' | 'discard', jobs: string): Omit<Question, 'run'> {
  return {
    title: `${capital(action)} ${jobs}?`,
    text:
      action === 'retry'
        ? `All ${jobs} run again as if they were new. It happens in the background, as a job of its own.`
        : `All ${jobs} are marked as discarded. They are kept with the history, and can be retried from there.`,
    verb: `${capital(action)} ${jobs}`,
    danger: action === 'discard',
    reason: true,
    done: `${capital(action)} of ${jobs} has begun`,
  }
}

function Row({ group, selection }: { group: Group; selection: Selection<string> | undefined }): JSX.Element {
  const { name, queue, state, error, reason, jobs, perHour, fingerprint } = group
  const session = useSession()
  return (
    <tr class={selection?.has(fingerprint) === true ? 'chosen' : ''}>
      {selection !== undefined && <Choice of={selection} value={fingerprint} label={`Choose the group of ${name}`} />}
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
      ...question(action, plural(jobs, 'job')),
      ...(production && action === 'discard' ? { typed: name } : {}),
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
