import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { Chip, Empty, Head, Shown, Table } from '../parts.tsx'
import { may, useSession } from '../session.ts'
import { bytes, count, duration, plural } from '../figures.ts'

type Worker = Answer<'workers'>['workers'][number]

const number = (title: string): { title: string; class: string } => ({ title, class: 'number' })
const heads = [
  'Worker',
  'State',
  number('Jobs'),
  'Works on',
  'Queues',
  number('Memory'),
  'Up',
  { title: '', class: 'verbs' },
]

/** Two missed signs of life are tolerated. */
const silentMs = 45_000

export function WorkersPage(): JSX.Element {
  const live = useLive<Answer<'workers'>>('/workers')
  return (
    <>
      <Head title="Workers" sentence="The processes that do the work." />
      <Shown live={live}>
        {({ workers }) => {
          if (workers.length === 0) {
            return (
              <Empty title="No worker is there, so nothing happens.">
                <pre>sluice worker</pre>
              </Empty>
            )
          }
          const versions = new Set(workers.map(({ version }) => version))
          return (
            <>
              {versions.size > 1 && (
                <p class="attention">Workers of different versions are running: {[...versions].join(', ')}.</p>
              )}
              <Table label="Workers" heads={heads}>
                {workers.map((worker) => (
                  <Row key={worker.id} worker={worker} />
                ))}
              </Table>
            </>
          )
        }}
      </Shown>
    </>
  )
}

function Row({ worker }: { worker: Worker }): JSX.Element {
  const session = useSession()
  const silent = worker.seen_ms > silentMs
  return (
    <tr>
      <td class="nowrap">
        <span class="strong">{worker.host}</span> <span class="muted">{worker.pid}</span>
        <div class="under">
          <code title={worker.id}>…{worker.id.slice(-12)}</code>
        </div>
      </td>
      <td>
        <Chip {...standing(worker, silent)} />
        <div class="under nowrap">
          {worker.drain_since === null || silent
            ? `seen ${worker.seen_ms < 2_000 ? 'now' : `${duration(worker.seen_ms)} ago`}`
            : `asked${worker.drain_by === null ? '' : ` by ${worker.drain_by}`}`}
        </div>
      </td>
      <td class="number">
        {count(worker.running)}
        <div class="under">{count(worker.concurrency)} at once</div>
        {worker.batches > 0 && <div class="under">{plural(worker.batches, 'batch', 'batches')}</div>}
        {worker.rows > 0 && <div class="under">{plural(worker.rows, 'row')} claimed</div>}
      </td>
      <td>
        {worker.works_on.length === 0 ? (
          <span class="muted">nothing</span>
        ) : (
          worker.works_on.map((one) => <Work key={one.kind + one.name} one={one} />)
        )}
      </td>
      <td class="clip">{worker.queues.length === 0 ? 'all' : worker.queues.join(', ')}</td>
      <td class="number">
        {worker.memory_bytes === null ? '–' : bytes(worker.memory_bytes)}
        {worker.loop_lag_ms !== null && <div class="under">loop lag {duration(worker.loop_lag_ms)}</div>}
      </td>
      <td class="nowrap">
        {duration(Date.now() - Date.parse(worker.started_at))}
        <div class="under">version {worker.version}</div>
      </td>
      <td class="verbs">
        {may(session, 'operator') && worker.drain_since === null && !silent && (
          <button type="button" onClick={() => ask(worker, session.production)}>
            Drain
            <span class="visually-hidden">
              {' '}
              {worker.host} {worker.pid}
            </span>
          </button>
        )}
      </td>
    </tr>
  )
}

function standing({ drain_since }: Worker, silent: boolean): { state: string; label: string } {
  if (silent) return { state: 'failed', label: 'silent' }
  return drain_since === null ? { state: 'succeeded', label: 'alive' } : { state: 'draining', label: 'draining' }
}

function Work({ one: { kind, name, count: n, oldestMs } }: { one: Worker['works_on'][number] }): JSX.Element {
  const what = n === 1 ? '' : kind === 'job' ? ` × ${count(n)}` : `, ${count(n)} batches`
  return (
    <div class="nowrap">
      {name}
      {what} <span class="muted">{duration(oldestMs)}</span>
    </div>
  )
}

function ask({ id, host, pid, running, batches }: Worker, production: boolean): void {
  confirm({
    title: `Drain the worker on ${host}?`,
    text: `Process ${pid} takes no new work, finishes what it runs (${plural(running, 'job')} and ${plural(batches, 'batch', 'batches')} now), however long that takes, and ends. It notices with its next sign of life.`,
    verb: 'Drain',
    danger: true,
    ...(production ? { typed: host } : {}),
    reason: true,
    done: `The worker on ${host} will end`,
    run: (reason) =>
      change(`/workers/${id}/drain`, { expectedState: 'working', ...(reason === undefined ? {} : { reason }) }),
  })
}
