import { expire, Sluice } from '../../src/index.ts'
import type { Scenario } from '../harness.ts'
import { connected, EventsTable, type Aged, type Work } from './events-table.ts'

export interface ExpireChoices {
  /** A server on which databases may be made. */
  url: string
  rows: number
  aged: Aged
}

const works: Record<string, Work> = {
  'one big DELETE': bigDelete,
  'LIMIT 1000 loop': limitLoop,
  'Sluice, 1 lane': sluiceWith(1),
  'Sluice, 2 lanes': sluiceWith(2),
}

/** Half of a table is older than 90 days and goes. */
export async function expireScenario({ url, rows, aged }: ExpireChoices): Promise<Scenario> {
  const table = await EventsTable.create(url, { rows, aged })
  return {
    title: `expire: delete 50 % of ${rows.toLocaleString('en-US')} rows, the aged ones ${where[aged]}`,
    facts: [
      'table: about 200 bytes per row, primary key and 2 indexes; a fresh copy, vacuum analyze and checkpoint before each run',
      'time: of the deletion alone; for Sluice from the call of start to the event operation.finished',
      `Sluice: a worker in this process with as many slots as lanes, default sizes, a look for work every ${pollMs} ms`,
      'every run was checked: exactly the aged rows are gone',
    ],
    baseline: 'one big DELETE',
    variants: Object.entries(works).map(([name, work]) => ({ name, run: () => table.measure(work) })),
    [Symbol.asyncDispose]: () => table[Symbol.asyncDispose](),
  }
}

const where: Record<Aged, string> = { oldest: 'at its beginning', scattered: 'all over it' }

/** Short, because at the default of 2 s a run would consist of waiting for the first look. */
const pollMs = 10

const isAged = `created_at < now() - interval '90 days'`

async function bigDelete(url: string, timed: Parameters<Work>[1]): Promise<void> {
  await connected(url, (client) => timed(() => client.query(`delete from events where ${isAged}`)))
}

/** As it stands in many a cron job. */
async function limitLoop(url: string, timed: Parameters<Work>[1]): Promise<void> {
  const some = `delete from events where id in (select id from events where ${isAged} limit 1000)`
  await connected(url, (client) =>
    timed(async () => {
      while ((await client.query(some)).rowCount !== 0);
    }),
  )
}

function sluiceWith(lanes: number): Work {
  return async (url, timed) => {
    const expireEvents = expire({
      name: 'expire-events',
      table: 'events',
      olderThan: '90 days',
      by: 'created_at',
      lanes,
    })
    const worker = { concurrency: lanes, poll: pollMs }
    await using sluice = new Sluice({ database: url, operations: [expireEvents], worker })
    await sluice.start()
    await timed(async () => {
      const over = end(sluice)
      await sluice.operations.start(expireEvents)
      await over
    })
  }
}

function end(sluice: Sluice): Promise<unknown> {
  return new Promise((resolve, reject) => {
    sluice.on('operation.finished', resolve)
    sluice.on('operation.failed', ({ error }) => reject(new Error(`the operation failed: ${error.message}`)))
  })
}
