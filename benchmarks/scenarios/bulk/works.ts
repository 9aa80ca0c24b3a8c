import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import type pg from 'pg'
import type * as SluiceModule from '../../../src/index.ts'
import type { OperationDefinition, SluiceConfig } from '../../../src/index.ts'
import { connected } from '../../database.ts'
import type { Case } from '../events-table.ts'

/** What a way of working is given: the copy, and how to say that rows are done and that time is up. */
export interface Site {
  url: string
  case: Case
  /** So many rows more are done. */
  done: (rows: number) => void
  over: AbortSignal
  /** What is measured of it. */
  timed: (part: () => Promise<boolean>) => Promise<boolean>
}

/** One way to do the work. */
export interface Way {
  /** Gives false when it was stopped before its end. */
  work: (site: Site) => Promise<boolean>
  /** A loop that is known to be slow: it is stopped early. */
  byHand?: boolean
  /** The cases that it is for; else all. */
  only?: readonly string[]
}

/** As users have it: the built package. */
const built = new URL('../../../dist/index.js', import.meta.url).href
const own = await openRelease(built)

/** A release of Sluice, and the schema that it has in the databases of the benchmark. */
interface Release {
  module: typeof SluiceModule
  schema: string
}

async function openRelease(url: string, schema = 'sluice'): Promise<Release> {
  return { module: (await import(url)) as typeof SluiceModule, schema }
}

/** The release that is built in that folder. */
export async function releaseAt(folder: string): Promise<Release> {
  return openRelease(pathToFileURL(`${folder}/dist/index.js`).href, 'sluice_of_another_release')
}

const isAged = `created_at < now() - interval '90 days'`
const isUnchecked = `checked is distinct from true`

const tighter: SluiceConfig = { governor: { limits: { activeSessions: { soft: 0.05, hard: 0.5 } } } }

/** Sizes by hand, to compare with those that are found. */
const fixedSizes = Object.fromEntries(
  [500, 1_000, 5_000, 20_000].map((subBatchSize): [string, Way] => [
    `Sluice, fixed ${subBatchSize.toLocaleString('en-US')}`,
    { work: sluiceWith({ subBatchSize, batchSize: 500_000 }), only: ['foreground'] },
  ]),
)

/** The ways that are compared, by name. */
export const works: Record<string, Way> = {
  'one big statement': { work: bigStatement },
  'LIMIT 500 loop': { work: loop(500), byHand: true },
  'keyset 1,000, 100 ms pause': { work: keyset(1_000, 100), byHand: true },
  'Sluice, 1 lane': { work: sluiceWith({}) },
  'Sluice, lanes auto': { work: sluiceWith({ lanes: 'auto' }) },
  'Sluice, tighter limits': { work: sluiceWith({}, tighter), only: ['foreground'] },
  ...fixedSizes,
  // Strides by hand, to compare with those that are chosen.
  'Sluice, no strides': { work: sluiceWith({ stride: 1 }), only: ['full'] },
  'Sluice, stride 5': { work: sluiceWith({ stride: 5 }), only: ['full'] },
  'Sluice, stride 20': { work: sluiceWith({ stride: 20 }), only: ['full'] },
}

/** The ways of a release that are compared with those of another one. */
export function sluiceWays(name: string, release?: Release): Record<string, Way> {
  return {
    [`${name}, 1 lane`]: { work: sluiceWith({}, {}, release) },
    [`${name}, lanes auto`]: { work: sluiceWith({ lanes: 'auto' }, {}, release) },
  }
}

export const baseline = 'one big statement'

async function bigStatement({ url, case: { work = 'delete' }, done, timed }: Site): Promise<boolean> {
  const text = work === 'delete' ? `delete from events where ${isAged}` : `update events set checked = true`
  return connected(url, (client) =>
    timed(async () => {
      done((await client.query(text)).rowCount ?? 0)
      return true
    }),
  )
}

/** As it stands in many a cron job, and in many a guide: some rows from the head, again and again. */
function loop(size: number): Way['work'] {
  return async ({ url, case: { work = 'delete' }, done, over, timed }) => {
    const text =
      work === 'delete'
        ? `delete from events where id in (select id from events where ${isAged} limit ${size})`
        : `update events set checked = true where id in (select id from events where ${isUnchecked} limit ${size})`
    return connected(url, (client) =>
      timed(async () => {
        for (let rows = 1; rows > 0 && !over.aborted; done(rows)) rows = (await client.query(text)).rowCount ?? 0
        return !over.aborted
      }),
    )
  }
}

/** A careful loop by hand: windows of the key, and a rest after each. */
function keyset(size: number, pauseMs: number): Way['work'] {
  return async ({ url, case: { work = 'delete' }, done, over, timed }) => {
    const change = async (client: pg.Client, from: string, to: string | null): Promise<number> => {
      const window = `id > ${from} and id <= ${to ?? 'id'}`
      const text =
        work === 'delete'
          ? `delete from events where ${window} and ${isAged}`
          : `update events set checked = true where ${window}`
      return (await client.query(text)).rowCount ?? 0
    }
    return connected(url, (client) =>
      timed(async () => {
        for (let at: string | null = '0'; at !== null && !over.aborted;) {
          const upper: string | null = await nextKey(client, at, size)
          done(await change(client, at, upper))
          at = upper
          await sleep(pauseMs)
        }
        return !over.aborted
      }),
    )
  }
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
  Pick<Parameters<typeof SluiceModule.backfill>[0], 'lanes' | 'subBatchSize' | 'batchSize' | 'stride'>
>

/** A worker is there for days; what it does in its first second is not part of an operation. */
const settleMs = 3_000

/** A worker in this process, with as many slots as lanes may pay here. */
function sluiceWith(choices: Choices, config: SluiceConfig = {}, release?: Release): Way['work'] {
  return async ({ url, case: what, done, over, timed }) => {
    const { module, schema } = release ?? own
    const operation = definitionOf(what, choices, module)
    const worker = { concurrency: choices.lanes === 'auto' ? 4 : 1 }
    await using sluice = new module.Sluice({ database: url, schema, operations: [operation], worker, ...config })
    if (release !== undefined) await sluice.migrate()
    sluice.on('sub-batch.committed', ({ rowsChanged }) => done(rowsChanged))
    await sluice.start()
    await sleep(settleMs)
    const ended = new Promise<boolean>((resolve, reject) => {
      sluice.on('operation.finished', () => resolve(true))
      sluice.on('operation.failed', ({ error }) => reject(new Error(`the operation failed: ${error.message}`)))
      over.addEventListener('abort', () => resolve(false))
    })
    return await timed(async () => {
      await sluice.operations.start(operation)
      return ended
    })
  }
}

function definitionOf(
  { work = 'delete' }: Case,
  { stride = 'auto', ...choices }: Choices,
  { expire, backfill, sql }: typeof SluiceModule,
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
