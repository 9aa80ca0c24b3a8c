import { connected } from '../../../database.ts'
import { Stage, type Bench } from '../bench.ts'
import { now, type Configuration } from '../job-system.ts'
import { goalFor, plain, ratioTo, type Measure, type Reading } from '../measure.ts'

/** Jobs that may wait: enough to keep any worker busy, too few to count by their own size. */
const ahead = 10_000

/** What passing jobs leave behind in the tables that they pass through. */
export function size(bench: Bench, configurations: Configuration[], baseline: Configuration): Measure {
  const jobs = bench.sizes.sizeJobs
  return {
    key: 'size',
    title: `size: the hot tables after ${jobs.toLocaleString('en-US')} jobs, a producer and one worker`,
    facts: [
      `pg_total_relation_size, so with indexes; the producer stays at most ${ahead.toLocaleString('en-US')} jobs ahead`,
      'autovacuum is off for this measure: whether it comes by during so short a run is luck',
      'pg-boss keeps done jobs in the same table',
    ],
    columns: [
      { ...plain('megabytes', 'MB', 1), ...goalFor(1_000_000, jobs, { least: 150, aim: 50, atMost: true }) },
      ratioTo(baseline.name, 'megabytes', { key: 'ratio', title: `÷ ${baseline.name}` }),
      plain('bytesPerJob', 'bytes/job', 0),
    ],
    variants: configurations.map((configuration) => ({
      name: configuration.name,
      run: () => sizeOnce(bench, configuration),
    })),
  }
}

async function sizeOnce(bench: Bench, configuration: Configuration): Promise<Reading> {
  const jobs = bench.sizes.sizeJobs
  const began = now()
  await using stage = await Stage.set(bench, configuration)
  await using _off = await withoutAutovacuum(bench.postgres)
  const [worker, producer] = await stage.workerAndProducer()
  const over = new Promise<void>((resolve) => {
    worker.onProgress = ({ done }) => {
      producer.tell('worked', done)
      if (done >= jobs) resolve()
    }
  })
  await worker.call('work', 1_000)
  await producer.call('produce', jobs, ahead)
  await over
  const bytes = await totalSize(stage.database ?? '', stage.hotTables)
  return { ms: now() - began, values: { megabytes: bytes / 1e6, bytesPerJob: bytes / jobs } }
}

async function withoutAutovacuum(server: string): Promise<AsyncDisposable> {
  const set = (text: string): Promise<unknown> =>
    connected(server, async (client) => {
      await client.query(text)
      await client.query('select pg_reload_conf()')
    })
  await set('alter system set autovacuum = off')
  return { [Symbol.asyncDispose]: async () => void (await set('alter system reset autovacuum')) }
}

async function totalSize(url: string, tables: string[]): Promise<number> {
  return connected(url, async (client) => {
    const { rows } = await client.query<{ bytes: number }>(
      `select sum(pg_total_relation_size(part))::float8 as bytes
       from (
         select unnest($1::regclass[]) as part
         union
         select relid from unnest($1::regclass[]) hot, pg_partition_tree(hot)
       ) parts`,
      [tables],
    )
    return rows[0]?.bytes ?? Number.NaN
  })
}
