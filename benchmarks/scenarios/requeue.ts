import { expire, Sluice } from '../../src/index.ts'
import { aligned } from '../report.ts'
import { connected, EventsTable, type Work } from './events-table.ts'

/** How fast each tenth of a backlog went, from the first to the last. */
export interface Tenths {
  variant: string
  rowsPerSecond: number[]
}

/** A moment at which so many rows were gone. */
type Mark = [rows: number, ms: number]

/** What a self-requeueing job deletes by; see examples/delete-old-data. */
const some = `
  delete from events where id = any(array(
    select id from events where created_at < now() - interval '90 days' order by created_at limit 500))`

const variants: Record<string, (marks: Mark[]) => Work> = {
  'job that enqueues itself': requeued,
  'the same, with an old snapshot open': besideOldSnapshot,
  expire: expired,
}

/** Works off a backlog in each way, one after the other, and tells how the speed changed on the way. */
export async function measureRequeue(
  { url, rows }: { url: string; rows: number },
  say: (line: string) => void,
): Promise<Tenths[]> {
  await using table = await EventsTable.create(url, { rows, aged: 'oldest' })
  const found: Tenths[] = []
  for (const [variant, work] of Object.entries(variants)) {
    const marks: Mark[] = []
    const run = await table.measure(work(marks))
    say(`${variant}: ${(run.ms / 1_000).toFixed(1)} s`)
    found.push({ variant, rowsPerSecond: tenthsOf(marks, run.rows) })
  }
  return found
}

const count = (n: number): string => n.toLocaleString('en-US')

/** The report, as Markdown. */
export function requeueReport(
  tenths: readonly Tenths[],
  about: { conditions: string[]; command: string; rows: number },
): string {
  const facts = [
    'table: about 200 bytes per row, primary key and 2 indexes, one on created_at; a fresh copy for each',
    'job: 500 rows per statement and transaction, by the oldest created_at; without what the queue itself costs',
    'every run was checked: exactly the aged rows are gone',
  ]
  const first = ['rows/s over', ...Array.from({ length: 10 }, (_, i) => `tenth ${i + 1}`)]
  const table = aligned([first, ...tenths.map(({ variant, rowsPerSecond }) => [variant, ...rowsPerSecond.map(count)])])
  const lines = [...about.conditions, ...facts, `\`${about.command}\``].map((line) => `- ${line}`)
  const title = `requeue: work off a backlog of ${count(Math.floor(about.rows / 2))} of ${count(about.rows)} rows`
  return [`## ${title}`, '', ...lines, '', ...table, ''].join('\n')
}

/** The speed over each tenth of the rows. */
export function tenthsOf(marks: readonly Mark[], rows: number): number[] {
  const speeds: number[] = []
  let [fromRows, fromMs] = marks[0] ?? [0, 0]
  for (let tenth = 1; tenth <= 10; tenth++) {
    const [toRows, toMs] = marks.find(([gone]) => gone >= (rows * tenth) / 10) ?? marks.at(-1) ?? [0, 0]
    speeds.push(Math.round(((toRows - fromRows) * 1_000) / Math.max(toMs - fromMs, 1)))
    ;[fromRows, fromMs] = [toRows, toMs]
  }
  return speeds
}

function requeued(marks: Mark[]): Work {
  return (url, timed) =>
    connected(url, (client) =>
      timed(async () => {
        marks.push([0, performance.now()])
        for (let gone = 0, last = 500; last === 500; marks.push([gone, performance.now()])) {
          last = (await client.query(some)).rowCount ?? 0
          gone += last
        }
      }),
    )
}

function besideOldSnapshot(marks: Mark[]): Work {
  return (url, timed) =>
    connected(url, async (other) => {
      await other.query('begin isolation level repeatable read')
      await other.query('select count(*) from events')
      await requeued(marks)(url, timed)
      await other.query('rollback')
    })
}

function expired(marks: Mark[]): Work {
  return async (url, timed) => {
    const operation = expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })
    await using sluice = new Sluice({ database: url, operations: [operation], worker: { poll: 10 } })
    let gone = 0
    sluice.on('sub-batch.committed', ({ rowsChanged }) => marks.push([(gone += rowsChanged), performance.now()]))
    await sluice.start()
    await timed(async () => {
      marks.push([0, performance.now()])
      const over = new Promise((resolve) => sluice.on('operation.finished', resolve))
      await sluice.operations.start(operation)
      await over
    })
  }
}
