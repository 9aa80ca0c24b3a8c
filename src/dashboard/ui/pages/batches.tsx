import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Bar, Chip, Empty, Facts, Head, Shown, Table, When } from '../parts.tsx'
import { base, usePlace, withQuery } from '../router.ts'
import { may, useSession } from '../session.ts'
import { count, plural } from '../figures.ts'
import { toneOf } from '../words.ts'

const back = { to: `${base}/batches`, label: 'Batches' }
const heads = [
  'Batch',
  'State',
  { title: 'Progress', class: 'wide' },
  { title: 'Members', class: 'number' },
  { title: 'Failed', class: 'number' },
  'Opened',
]

export function BatchesPage(): JSX.Element {
  const place = usePlace()
  const before = place.query.get('before')
  const live = useLive<Answer<'batches'>>(`/batches${before === null ? '' : `?before=${encodeURIComponent(before)}`}`)
  return (
    <>
      <Head title="Batches" sentence="So many jobs, and one callback when all of them have ended." />
      <Shown live={live}>
        {({ batches, next }) =>
          batches.length === 0 ? (
            <Empty title="No batch of jobs yet.">
              <p>
                <code>sluice.batches.run</code> makes one.
              </p>
            </Empty>
          ) : (
            <>
              <Table label="Batches of jobs" heads={heads}>
                {batches.map((batch) => (
                  <tr key={batch.id}>
                    <td>
                      <a class="strong" href={`${base}/batches/${batch.id}`}>
                        {batch.description ?? `Batch ${batch.id}`}
                      </a>
                      <div class="under">{batch.id}</div>
                    </td>
                    <td>
                      <Chip state={batch.state} />
                    </td>
                    <td class="wide">
                      <Bar share={shareOf(batch)} tone={toneOf(batch.state)} label={`Progress of batch ${batch.id}`} />
                      <div class="under">
                        {count(batch.succeeded)} succeeded, {count(batch.waiting)} not over
                      </div>
                    </td>
                    <td class="number">{count(batch.total)}</td>
                    <td class="number">{count(batch.failed)}</td>
                    <td>
                      <When at={batch.openedAt} />
                    </td>
                  </tr>
                ))}
              </Table>
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

const shareOf = ({ total, waiting }: { total: number; waiting: number }): number =>
  total === 0 ? 1 : (total - waiting) / total

export function BatchPage({ id }: { id: string }): JSX.Element {
  const live = useLive<Answer<'batches.get'>>(`/batches/${id}`)
  return (
    <>
      {live.data === undefined && <Head back={back} title={`Batch ${id}`} />}
      <Shown live={live}>{({ batch }) => <Detail batch={batch} />}</Shown>
    </>
  )
}

function Detail({ batch }: { batch: Answer<'batches.get'>['batch'] }): JSX.Element {
  const session = useSession()
  const { id, state, description, total, waiting, succeeded, failed, callbacks, failures } = batch
  const open = ['open', 'sealed'].includes(state)
  const cancel = (): void =>
    confirm({
      title: `Cancel batch ${id}?`,
      text: `${plural(waiting, 'member')} that ${waiting === 1 ? 'has' : 'have'} not ended ${waiting === 1 ? 'is' : 'are'} cancelled. The callback for the end is called, the one for success is not.`,
      verb: 'Cancel batch',
      danger: true,
      ...(session.production ? { typed: String(id) } : {}),
      reason: true,
      done: `Cancelling batch ${id}`,
      run: (reason) =>
        change(`/batches/${id}/cancel`, { expectedState: state, ...(reason === undefined ? {} : { reason }) }),
    })
  return (
    <>
      <Head
        back={back}
        title={
          <>
            {description ?? `Batch ${id}`} <Chip state={state} />
          </>
        }
        sentence={`${plural(total, 'member')}: ${count(succeeded)} succeeded, ${count(failed)} failed, ${count(waiting)} not over${batch.reason === null ? '' : `; ${batch.reason}`}.`}
        actions={
          open &&
          may(session, 'operator') && (
            <button type="button" class="danger-quiet" onClick={cancel}>
              Cancel
            </button>
          )
        }
      />
      <Bar share={shareOf(batch)} tone={toneOf(state)} label="Progress" />
      <Facts
        of={[
          ['Id', id],
          ['Opened', <When key="o" at={batch.openedAt} />],
          ['Sealed', <When key="s" at={batch.sealedAt} />],
          ['Ended', <When key="e" at={batch.finishedAt} />],
          batch.parentId !== null && [
            'Inside of',
            <a key="p" href={`${base}/batches/${batch.parentId}`}>
              {batch.parentId}
            </a>,
          ],
          ...callbacks.map(
            ({ kind, name, jobId }) =>
              [
                `On ${kind}`,
                jobId === null ? (
                  name
                ) : (
                  <a key={kind} href={`${base}/jobs/${jobId}`}>
                    {name}
                  </a>
                ),
              ] as const,
          ),
        ]}
      />
      {failures.length > 0 && (
        <section aria-labelledby="members">
          <h2 id="members">Members that failed</h2>
          <Table label="Members that failed" heads={['Id', 'Job', 'State']}>
            {failures.map((member) => (
              <tr key={member.id}>
                <td>
                  <a href={`${base}/jobs/${member.id}`}>{member.id}</a>
                </td>
                <td>{member.name}</td>
                <td>
                  <Chip state={member.state} />
                </td>
              </tr>
            ))}
          </Table>
        </section>
      )}
    </>
  )
}
