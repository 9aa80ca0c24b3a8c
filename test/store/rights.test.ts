import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { grantsScript } from '../../src/index.ts'
import { functionRights, rightsOf, roles, tableRights, type Role } from '../../src/store/rights.ts'
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

async function tablesOf(role: string): Promise<Record<string, string>> {
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
    `select p.oid::regprocedure::text as name
     from pg_proc p
     where p.pronamespace = 'sluice'::regnamespace and p.prosecdef and has_function_privilege($1, p.oid, 'execute')
     order by 1`,
    [role],
  )
  return functions.map(({ name }) => name)
}

/** The rights of the list as {@link verbsOn} tells them. Those on some columns alone are none on the table. */
function listedTables(role: Role): Record<string, string> {
  const verbs = { select: 's', insert: 'i', update: 'u', delete: 'd' }
  const tables: Record<string, string> = {}
  for (const { kind, object, right } of rightsOf(role)) {
    const verb = verbs[right as keyof typeof verbs]
    if (kind === 'table' && verb !== undefined) tables[object] = (tables[object] ?? '') + verb
  }
  return tables
}

/** As the server writes types. */
async function listedFunctions(role: Role): Promise<string[]> {
  const names = rightsOf(role).flatMap(({ kind, object }) => (kind === 'function' ? [`sluice.${object}`] : []))
  return db.value(`select array_agg(f::regprocedure::text order by f::regprocedure::text) from unnest($1::text[]) f`, [
    names,
  ])
}

test.each(roles)('%s may do what stands in the list of rights and no more', async (role) => {
  const name = `sluice_${role}`
  expect(await tablesOf(name)).toEqual(listedTables(role))
  expect(await functionsOf(name)).toEqual((await listedFunctions(role)) ?? [])
  const others = await db.query<{ object: string }>(
    `select 'sequence ' || c.relname as object
     from pg_class c
     where c.relnamespace = 'sluice'::regnamespace
       and case c.relkind when 'S' then has_sequence_privilege($1, c.oid, 'select, usage, update') end
     union all
     select 'columns of ' || c.relname || ': ' || string_agg(a.attname, ', ' order by a.attnum)
     from pg_class c
     join pg_attribute a on a.attrelid = c.oid and a.attacl is not null
     where c.relnamespace = 'sluice'::regnamespace and has_column_privilege($1, c.oid, a.attnum, 'select')
       and not has_table_privilege($1, c.oid, 'select')
     group by c.relname
     order by 1`,
    [name],
  )
  const listed = rightsOf(role).flatMap(({ kind, object, right }) => {
    if (kind === 'sequence') return [`sequence ${object}`]
    const columns = /^select \((.*)\)$/.exec(right)?.[1]
    return kind === 'table' && columns !== undefined ? [`columns of ${object}: ${columns}`] : []
  })
  expect(others.map(({ object }) => object)).toEqual(listed.toSorted())
})

test('anybody else may do nothing', async () => {
  expect(await tablesOf('pg_signal_backend')).toEqual({})
  expect(await functionsOf('pg_signal_backend')).toEqual([])
})

test('each table and each function with the rights of the owner is in the list of rights, and nothing else', async () => {
  const tables = await db.query<{ name: string }>(
    `select relname as name
     from pg_class
     where relnamespace = 'sluice'::regnamespace and relkind in ('r', 'p') and not relispartition`,
  )
  expect(Object.keys(tableRights).toSorted()).toEqual(tables.map(({ name }) => name).toSorted())
  const listed = await db.query<{ name: string }>(
    `select to_regprocedure('sluice.' || f)::text as name from unnest($1::text[]) f order by 1`,
    [Object.keys(functionRights)],
  )
  const functions = await db.query<{ name: string }>(
    `select oid::regprocedure::text as name
     from pg_proc
     where pronamespace = 'sluice'::regnamespace and prosecdef
     order by 1`,
  )
  expect(listed).toEqual(functions)
})

test('the migrator owns all that it may have to replace', async () => {
  const foreign = await db.query(
    `select relname from pg_class where relnamespace = 'sluice'::regnamespace and relowner <> 'sluice_migrator'::regrole
     union all
     select proname from pg_proc where pronamespace = 'sluice'::regnamespace and proowner <> 'sluice_migrator'::regrole`,
  )
  expect(foreign).toEqual([])
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
  expect(await tablesOf('sluice_enqueue')).toEqual(listedTables('enqueue'))
  expect(await functionsOf('sluice_enqueue')).toEqual(await listedFunctions('enqueue'))
})
