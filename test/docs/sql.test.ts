import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { read } from './pages.ts'

/** What psql does with its own commands and variables. */
function psql(block: string): string {
  const variables = [...block.matchAll(/^\\set (\w+) (.*)$/gm)]
  const rest = block.replaceAll(/^\\.*$/gm, '')
  return variables.reduce((text, [, name = '', value = '']) => text.replaceAll(`:'${name}'`, value), rest)
}

test('the examples of the SQL page run', async () => {
  await using db = await testDatabase()
  await db.query('create table documents (id bigint generated always as identity primary key, title text)')
  await db.query('create table customers (id bigint generated always as identity primary key, plan text)')
  await db.query(`insert into customers (plan) select 'pro' from generate_series(1, 1500)`)
  const blocks = [...read('docs/reference/sql.md').matchAll(/^```sql\n([\s\S]*?)^```$/gm)].map(([, sql = '']) => sql)
  // The first is the signature; roles belong to the server, not to this database.
  const examples = blocks.filter((sql) => !/^(sluice\.enqueue\(jobs|grant )/.test(sql))
  expect(examples.length).toBe(blocks.length - 2)
  for (const example of examples) await db.query(psql(example))
  await db.query(`insert into documents (title) values ('one'), ('two')`)
  await db.query(`update documents set title = 'more'`)

  const counts = await db.query<{ name: string; count: number; scheduled: number }>(
    `select c.name, count(*)::int, count(*) filter (where j.state = 2)::int as scheduled
     from sluice.job j
     join sluice.job_class c on c.id = j.class_id
     group by c.name
     order by c.name`,
  )
  expect(counts).toEqual([
    { name: 'index-document', count: 2, scheduled: 0 },
    { name: 'nightly-report', count: 1, scheduled: 1 },
    { name: 'stripe-sync', count: 1501, scheduled: 0 },
  ])
  expect(await db.value(`select count(distinct key)::int from sluice.job where key like 'customer:%'`)).toBe(1500)
})
