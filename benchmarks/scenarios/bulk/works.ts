import type pg from 'pg'
import { backfill, expire, Sluice, sql, type OperationDefinition, type SluiceConfig } from '../../../src/index.ts'
import { connected } from '../../database.ts'
import type { Case } from '../events-table.ts'

/** What a way of working is given: the copy, and how to say that rows are done and that time is up. */
interface Site {
  url: string
  case: Case
  /** So many rows more are done. */
  done: (rows: number) => void
  over: AbortSignal
}

/** One way to do the work. Gives false when it was stopped before its end. */
export type Work = (site: Site) => Promise<boolean>

const isAged = `created_at < now() - interval '90 days'`
const isUnchecked = `checked is distinct from true`

/** The ways that are compared, by name. */
export const works: Record<string, Work> = {
  'one big statement': bigStatement,
  'LIMIT 500 loop': loop(500),
  'keyset 1,000, 100 ms pause': keyset(1_000, 100),
  'Sluice, 1 lane': sluiceWith({}),
  'Sluice, lanes auto': sluiceWith({ lanes: 'auto' }),
  'Sluice, lanes auto, commit later': sluiceWith({ lanes: 'auto', commit: 'later' }),
  'Sluice, tighter limits': sluiceWith({}, { governor: { limits: { activeSessions: { soft: 0.05, hard: 0.5 } } } }),
}

/** Sizes by hand, to compare with those that are found. */
export const fixedSizes: Record<string, Work> = Object.fromEntries(
  [500, 1_000, 5_000, 20_000].map((subBatchSize) => [
    `Sluice, fixed ${subBatchSize.toLocaleString('en-US')}`,
    sluiceWith({ subBatchSize, batchSize: 500_000 }),
  ]),
)

/** Strides by hand, to compare with those that are chosen; only where there is a choice. */
export const fixedStrides: Record<string, Work> = {
  'Sluice, no strides': sluiceWith({ stride: 1 }),
  'Sluice, stride 5': sluiceWith({ stride: 5 }),
  'Sluice, stride 20': sluiceWith({ stride: 20 }),
}

export const baseline = 'one big statement'

async function bigStatement({ url, case: { work = 'delete' }, done }: Site): Promise<boolean> {
  const text = work === 'delete' ? `delete from events where ${isAged}` : `update events set checked = true`
  done((await connected(url, (client) => client.query(text))).rowCount ?? 0)
  return true
}

/** As it stands in many a cron job, and in many a guide: some rows from the head, again and again. */
function loop(size: number): Work {
  return async ({ url, case: { work = 'delete' }, done, over }) => {
    const text =
      work === 'delete'
        ? `delete from events where id in (select id from events where ${isAged} limit ${size})`
        : `update events set checked = true where id in (select id from events where ${isUnchecked} limit ${size})`
    return connected(url, async (client) => {
      for (let rows = 1; rows > 0 && !over.aborted; done(rows)) rows = (await client.query(text)).rowCount ?? 0
      return !over.aborted
    })
  }
}

/** A careful loop by hand: windows of the key, and a rest after each. */
function keyset(size: number, pauseMs: number): Work {
  return async ({ url, case: { work = 'delete' }, done, over }) =>
    connected(url, async (client) => {
      for (let at: string | null = '0'; at !== null && !over.aborted;) {
        const upper: string | null = await nextKey(client, at, size)
        const window = `id > ${at} and id <= ${upper ?? 'id'}`
        const text =
          work === 'delete'
            ? `delete from events where ${window} and ${isAged}`
            : `update events set checked = true where ${window}`
        done((await client.query(text)).rowCount ?? 0)
        at = upper
        await new Promise((resolve) => setTimeout(resolve, pauseMs))
      }
      return !over.aborted
    })
}

async function nextKey(client: pg.Client, at: string, size: number): Promise<string | null> {
  const { rows } = await client.query<{ id: string }>(
    `select id from events where id > ${at} order by id offset ${size - 1} limit 1`,
  )
  return rows[0]?.id ?? null
}

/** The other ways look for no rows that were left, either. */
const unverified = { verify: false }

type Choices = Partial<
  Pick<Parameters<typeof backfill>[0], 'lanes' | 'subBatchSize' | 'batchSize' | 'stride' | 'commit'>
>

/** A worker in this process that looks for work often: at the default of 2 s a short run would be all waiting. */
function sluiceWith(choices: Choices, config: SluiceConfig = {}): Work {
  return async ({ url, case: what, done, over }) => {
    const operation = definitionOf(what, choices)
    // A slot without work looks for some a hundred times a second here, which is not what is measured.
    const worker = { concurrency: choices.lanes === 'auto' ? 4 : 1, poll: 10 }
    await using sluice = new Sluice({ database: url, operations: [operation], worker, ...config })
    sluice.on('sub-batch.committed', ({ rowsChanged }) => done(rowsChanged))
    await sluice.start()
    const ended = new Promise<boolean>((resolve, reject) => {
      sluice.on('operation.finished', () => resolve(true))
      sluice.on('operation.failed', ({ error }) => reject(new Error(`the operation failed: ${error.message}`)))
      over.addEventListener('abort', () => resolve(false))
    })
    await sluice.operations.start(operation)
    return await ended
  }
}

function definitionOf(
  { work = 'delete' }: Case,
  { stride = 'auto', ...choices }: Choices,
): OperationDefinition<undefined> {
  return work === 'delete'
    ? expire({
        name: 'expire-events',
        table: 'events',
        olderThan: '90 days',
        by: 'created_at',
        ...unverified,
        ...choices,
      })
    : backfill({
        name: 'check-events',
        table: 'events',
        set: { checked: sql`true` },
        stride,
        ...unverified,
        ...choices,
      })
}
