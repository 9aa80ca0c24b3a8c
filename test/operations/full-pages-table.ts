import { testDatabase, type TestDatabase } from '../support/database.ts'

/** Full pages, each row of which tells how often it was updated. */
export async function fullPages(rows: number, also = ''): Promise<TestDatabase> {
  const db = await testDatabase()
  await db.query(`create table counters (id bigint primary key, n int not null default 0, done boolean not null default
    false, filling text not null default repeat('x', 150)) with (autovacuum_enabled = false)`)
  await db.query('create index counters_filling on counters (filling, id)')
  await db.query('insert into counters (id) select generate_series(1, $1::int)', [rows])
  await db.query(`create function count_up() returns trigger language plpgsql as
    $$ begin ${also} new.n := old.n + 1; return new; end $$`)
  await db.query('create trigger count_up before update on counters for each row execute function count_up()')
  await db.query('vacuum analyze counters')
  return db
}
