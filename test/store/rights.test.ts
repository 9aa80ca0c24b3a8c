import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { grantsScript } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'

let db: TestDatabase
let client: pg.Client
beforeAll(async () => {
  db = await testDatabase()
  client = new pg.Client({ connectionString: db.url })
  await client.connect()
  return () => db[Symbol.asyncDispose]()
})
afterAll(() => client.end())

/** Whether a role may run a statement. It is really run, and taken back: an error of another kind means that it may. */
async function may(role: string, statement: string): Promise<boolean> {
  await client.query(`begin; set local role ${role}`)
  try {
    await client.query(statement)
    return true
  } catch (error) {
    return (error as { code?: string }).code !== '42501'
  } finally {
    await client.query('rollback')
  }
}

/** The verbs that a role may use on a table: s(elect), i(nsert), u(pdate), d(elete), t(runcate). */
async function verbsOn(role: string, table: string, column: string): Promise<string> {
  const attempts = {
    s: `select * from sluice.${table} limit 0`,
    i: `insert into sluice.${table} default values`,
    u: `update sluice.${table} set ${column} = default where false`,
    d: `delete from sluice.${table} where false`,
    t: `truncate sluice.${table}`,
  }
  let verbs = ''
  for (const [verb, statement] of Object.entries(attempts)) if (await may(role, statement)) verbs += verb
  return verbs
}

async function rightsOf(role: string): Promise<Record<string, string>> {
  const tables = await db.query<{ name: string; part: boolean; column: string }>(
    `select c.relname as name, c.relispartition as part, quote_ident(a.attname) as column
     from pg_class c
     join lateral (select attname from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped
                     and attidentity <> 'a' and attgenerated = '' order by attnum limit 1) a on true
     where c.relnamespace = 'sluice'::regnamespace and c.relkind in ('r', 'p')
     order by 1`,
  )
  const rights: Record<string, string> = {}
  for (const { name, part, column } of tables) {
    const verbs = await verbsOn(role, name, column)
    // Partitions are reached through their tables only.
    if (verbs !== '') rights[part ? `partition ${name}` : name] = verbs
  }
  return rights
}

async function functionsOf(role: string): Promise<string[]> {
  const functions = await db.query<{ name: string }>(
    `select distinct p.proname as name
     from pg_proc p
     where p.pronamespace = 'sluice'::regnamespace and p.prosecdef and has_function_privilege($1, p.oid, 'execute')
     order by 1`,
    [role],
  )
  return functions.map(({ name }) => name)
}

/** What each role may do, table by table. Whoever needs more has to write it here. */
const expected: Record<string, { functions: readonly string[]; tables: Record<string, string> }> = {
  sluice_worker: {
    functions: words(`admit_jobs admit_waiting_jobs batch_members_back batch_members_ended cancel_job_batch
      create_history_partitions create_inbox_partitions create_job_batch_partitions create_job_partitions
      create_sample_partitions create_schedule_partitions drop_history_partitions drop_inbox_partitions
      drop_job_batch_partitions drop_job_partitions drop_sample_partitions drop_schedule_partitions enqueue
      enqueue_names enqueue_plain forget_acts forget_summaries inbox_receive lock_job_batch mend_job_batch open_job_batch record_act
      seal_job_batch start_operation write_samples`),
    tables: {
      ...all(
        's',
        `audit inbox job_batch_history migration operation_sample_10s operation_sample_1h operation_sample_1m
        queue_sample_10s queue_sample_1h queue_sample_1m signal_sample_10s signal_sample_1h signal_sample_1m standstill`,
      ),
      ...all('si', 'job_attempt job_history schedule_tick server_life transition'),
      ...all('su', 'budget inbox_message'),
      ...all('sd', 'inbox_difference job_batch job_batch_addition job_batch_callback'),
      ...all(
        'siu',
        `alert_turn batch_history claim_turn operation_summary quarantine reconciler recurring_mark schedule
        tenant_share`,
      ),
      ...all('sid', 'job_dead operation_history'),
      ...all('sud', 'inbox_key'),
      ...all(
        'siud',
        `alert batch disabled_operation job job_cancel job_claim job_class job_lock once_result operation
        queue sweep sweep_claim table_setting worker`,
      ),
    },
  },
  sluice_enqueue: {
    functions: words(`admit_jobs enqueue enqueue_names enqueue_plain inbox_receive open_job_batch
      seal_job_batch start_operation write_samples`),
    tables: {
      ...all(
        's',
        `batch disabled_operation inbox inbox_key migration operation operation_history recurring_mark
        standstill transition worker`,
      ),
      ...all('siu', 'once_result'),
    },
  },
  sluice_dashboard: {
    functions: [],
    tables: all(
      's',
      `alert audit batch batch_history budget disabled_operation inbox inbox_difference inbox_key
      inbox_message job job_attempt job_batch job_batch_addition job_batch_callback job_batch_history job_cancel
      job_claim job_class job_dead job_history job_lock migration operation operation_history operation_sample_10s
      operation_sample_1h operation_sample_1m operation_summary quarantine queue queue_sample_10s queue_sample_1h
      queue_sample_1m reconciler recurring_mark schedule schedule_tick server_life signal_sample_10s signal_sample_1h
      signal_sample_1m standstill sweep sweep_claim table_setting tenant_share transition worker`,
    ),
  },
  // Anybody else.
  pg_signal_backend: { functions: [], tables: {} },
}

function words(text: string): string[] {
  return text.split(/\s+/)
}

function all(verbs: string, tables: string): Record<string, string> {
  return Object.fromEntries(words(tables).map((table) => [table, verbs]))
}

test.each(Object.keys(expected))('%s may do what it needs and no more', async (role) => {
  expect({ functions: await functionsOf(role), tables: await rightsOf(role) }).toEqual(expected[role])
})

test.each([
  ['the payload of a message', 'select payload from sluice.inbox_message'],
  ['the payload of a message that differs', 'select payload from sluice.inbox_difference'],
  ['an act of somebody else', `select sluice.record_act('ceo', 'cli', 'operation.approve', 'x', null, null, 'forged')`],
  ['an approval', 'update sluice.operation set approved = true'],
  ['the args of a job', 'select args from sluice.job'],
])('whoever may only enqueue has no access to %s', async (_, statement) => {
  expect(await may('sluice_enqueue', statement)).toBe(false)
})

test('rights that an earlier release gave are taken back when the script runs again', async () => {
  await db.query('grant insert on sluice.operation, sluice.transition to sluice_enqueue')
  await db.query('grant execute on function sluice.record_act to sluice_enqueue')
  await db.query(grantsScript('sluice'))
  expect(await rightsOf('sluice_enqueue')).toEqual(expected['sluice_enqueue']?.tables)
  expect(await functionsOf('sluice_enqueue')).toEqual(expected['sluice_enqueue']?.functions)
})
