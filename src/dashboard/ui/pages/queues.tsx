import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Flows, depthTrend } from './queue-flows.tsx'
import { Chip, Empty, Head, Shown, Table } from '../parts.tsx'
import { base } from '../router.ts'
import { may, useSession } from '../session.ts'
import { count, duration, plural } from '../words.ts'

type Queue = Answer<'queues'>['queues'][number]
type Samples = Answer<'samples.queues'>

const heads = [
  'Queue',
  'State',
  { title: 'Waiting', class: 'number' },
  { title: 'Running', class: 'number' },
  { title: 'Scheduled', class: 'number' },
  { title: 'Blocked', class: 'number' },
  { title: 'Oldest', class: 'number' },
  'Limit',
  { title: '', class: 'verbs' },
]

export function QueuesPage(): JSX.Element {
  const live = useLive<Answer<'queues'>>('/queues')
  const { data: flow } = useLive<Samples>('/samples/queues')
  return (
    <>
      <Head title="Queues" sentence="What waits, and since when." />
      <Shown live={live}>
        {({ queues }) =>
          queues.length === 0 ? (
            <Empty title="No queue yet.">
              <p>A queue is there once a job was enqueued in it.</p>
            </Empty>
          ) : (
            <>
              <Table label="Queues" heads={heads}>
                {queues.map((queue) => (
                  <Row key={queue.name} queue={queue} trend={flow && depthTrend(flow, queue.name)} />
                ))}
              </Table>
              {flow !== undefined && <Flows names={queues.map(({ name }) => name)} flow={flow} />}
            </>
          )
        }
      </Shown>
    </>
  )
}

function Row({ queue, trend }: { queue: Queue; trend: string | undefined }): JSX.Element {
  const { name, paused, pausedBy, waiting, running, scheduled, blocked, parked, oldestMs, rate } = queue
  const session = useSession()
  return (
    <tr>
      <td>
        <a class="strong" href={`${base}/jobs?queue=${encodeURIComponent(name)}`}>
          {name}
        </a>
        {parked > 0 && <div class="under warn-text">{count(parked)} parked</div>}
      </td>
      <td>
        <Chip state={paused ? 'paused' : 'enabled'} label={paused ? 'paused' : 'open'} />
        {pausedBy !== null && <div class="under">by {pausedBy}</div>}
      </td>
      <td class="number">
        {count(waiting)}
        {trend !== undefined && <div class="under">{trend}</div>}
      </td>
      <td class="number">{count(running)}</td>
      <td class="number">{count(scheduled)}</td>
      <td class="number">{count(blocked)}</td>
      <td class="number">{oldestMs === null ? <span class="muted">–</span> : duration(oldestMs)}</td>
      <td>{rate === null ? <span class="muted">none</span> : `${count(rate.limit)} per ${duration(rate.perMs)}`}</td>
      <td class="verbs">{may(session, 'operator') && <Verbs queue={queue} />}</td>
    </tr>
  )
}

function Verbs({ queue: { name, paused, waiting } }: { queue: Queue }): JSX.Element {
  const verb = paused ? 'resume' : 'pause'
  const ask = (): void =>
    confirm({
      title: paused ? `Resume queue ${name}?` : `Pause queue ${name}?`,
      text: paused
        ? `${plural(waiting, 'job')} that ${waiting === 1 ? 'waits' : 'wait'} may start again.`
        : `No job of it starts until you resume it; ${plural(waiting, 'job waits', 'jobs wait')} now. Running ones go on.`,
      verb: paused ? 'Resume' : 'Pause',
      reason: true,
      done: paused ? `Queue ${name} is open` : `Queue ${name} is paused`,
      run: (reason) =>
        change(`/queues/${encodeURIComponent(name)}/${verb}`, {
          expectedState: paused ? 'paused' : 'open',
          ...(reason === undefined ? {} : { reason }),
        }),
    })
  return (
    <button type="button" onClick={ask}>
      {paused ? 'Resume' : 'Pause'}
      <span class="visually-hidden"> queue {name}</span>
    </button>
  )
}
