import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Chip, Empty, Head, Shown, Table, When } from '../parts.tsx'
import { count, duration } from '../words.ts'

const heads = [
  'Worker',
  'State',
  'Version',
  { title: 'Jobs', class: 'number' },
  { title: 'Batches', class: 'number' },
  { title: 'Rows claimed', class: 'number' },
  'Queues',
  'Started',
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
                  <tr key={worker.id}>
                    <td>
                      <span class="strong">{worker.host}</span> <span class="muted">{worker.pid}</span>
                      <div class="under">
                        <code>{worker.id.slice(0, 8)}</code>
                      </div>
                    </td>
                    <td>
                      <Chip
                        state={worker.seen_ms > silentMs ? 'failed' : 'succeeded'}
                        label={worker.seen_ms > silentMs ? 'silent' : 'alive'}
                      />
                      <div class="under">seen {duration(worker.seen_ms)} ago</div>
                    </td>
                    <td>{worker.version}</td>
                    <td class="number">
                      {count(worker.running)} of {count(worker.concurrency)}
                    </td>
                    <td class="number">{count(worker.batches)}</td>
                    <td class="number">{count(worker.rows)}</td>
                    <td class="clip">{worker.queues.length === 0 ? 'all' : worker.queues.join(', ')}</td>
                    <td>
                      <When at={worker.started_at} />
                    </td>
                  </tr>
                ))}
              </Table>
            </>
          )
        }}
      </Shown>
    </>
  )
}
