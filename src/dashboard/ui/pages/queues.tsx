import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Flows } from './queue-flows.tsx'
import { askLimit, limitOf } from './queue-limit.tsx'
import { depthTrend, latelyOf } from './queue-lately.ts'
import { Chip, Empty, Head, Shown, Table } from '../parts.tsx'
import { base } from '../router.ts'
import { may, useSession } from '../session.ts'
import { count, duration, percent, plural } from '../figures.ts'

type Queue = Answer<'queues'>['queues'][number]
type Samples = Answer<'samples.queues'>

const heads = [
  'Queue',
  'State',
  { title: 'Depth', class: 'number' },
  { title: 'Wait p95', class: 'number' },
  { title: 'Run p95', class: 'number' },
  { title: 'Out per min', class: 'number' },
  { title: 'Running', class: 'number' },
  { title: '', class: 'verbs' },
]

export function QueuesPage(): JSX.Element {
  const live = useLive<Answer<'queues'>>('/queues')
  const { data: flow } = useLive<Samples>('/samples/queues')
  return (
    <>
      <Head
        title="Queues"
        sentence="What waits, since when, and where that goes. Times and rates are of the last five minutes."
      />
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
                  <Row key={queue.name} queue={queue} flow={flow} />
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

function Row({ queue, flow }: { queue: Queue; flow: Samples | undefined }): JSX.Element {
  const { name, paused, pausedBy, waiting, running, scheduled, blocked, parked, oldestMs, estimated } = queue
  const session = useSession()
  const lately = flow && latelyOf(flow, name)
  const busy = lately !== undefined && lately.inPerMinute + lately.outPerMinute > 0 ? lately : undefined
  const trend = flow && depthTrend(flow, name)
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
        {pausedBy !== null && <div class="under clip">by {pausedBy}</div>}
        {queue.rate !== null && <div class="under nowrap">at most {limitOf(queue)}</div>}
      </td>
      <td class="number">
        {estimated && '~'}
        {count(waiting + blocked)}
        {blocked > 0 && <div class="under">{count(blocked)} blocked</div>}
        {trend?.split(', ').map((part) => (
          <div key={part} class="under">
            {part}
          </div>
        ))}
      </td>
      <Times of={lately?.wait} oldestMs={oldestMs} />
      <Times of={lately?.run} />
      <td class="number">
        {busy === undefined ? <span class="muted">–</span> : count(busy.outPerMinute)}
        {busy !== undefined && <div class="under">{count(busy.inPerMinute)} in</div>}
        {busy !== undefined && busy.failedShare > 0 && (
          <div class="under warn-text">{percent(busy.failedShare)} failed</div>
        )}
      </td>
      <td class="number">
        {count(running)}
        {scheduled > 0 && <div class="under">{count(scheduled)} later</div>}
      </td>
      <td class="verbs">{may(session, 'operator') && <Verbs queue={queue} />}</td>
    </tr>
  )
}

function Times({
  of,
  oldestMs = null,
}: {
  of: { p50Ms: number | null; p95Ms: number | null } | undefined
  oldestMs?: number | null
}): JSX.Element {
  const { p50Ms = null, p95Ms = null } = of ?? {}
  return (
    <td class="number">
      {p95Ms === null ? <span class="muted">–</span> : duration(p95Ms)}
      {p50Ms !== null && <div class="under">p50 {duration(p50Ms)}</div>}
      {oldestMs !== null && <div class="under">oldest {duration(oldestMs)}</div>}
    </td>
  )
}

function Verbs({ queue }: { queue: Queue }): JSX.Element {
  const { name, paused, waiting } = queue
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
    <>
      <button type="button" onClick={() => askLimit(queue)}>
        Limit
        <span class="visually-hidden"> queue {name}</span>
      </button>
      <button type="button" onClick={ask}>
        {paused ? 'Resume' : 'Pause'}
        <span class="visually-hidden"> queue {name}</span>
      </button>
    </>
  )
}
