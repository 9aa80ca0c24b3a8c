import fc from 'fast-check'

/** One way in which a database may be unlike the one that we develop on. All of it follows from the seed. */
export interface StrangePlan {
  encoding: 'UTF8' | 'LATIN1' | 'EUC_JP' | 'SQL_ASCII'
  /** Settings of the database and of the account, by name; those of the account win. */
  database: Record<string, string>
  account: Record<string, string>
  schema: string
  table: string
  /** The cursor: all but the last column repeat. */
  key: { name: string; type: KeyType }[]
  stamp: string
  counter: string
  collation: string
  partitioned: boolean
  rows: number
  surroundings: Surrounding[]
}

type KeyType = keyof typeof keyTypes
export type Surrounding = (typeof surroundings)[number]

/** A key type: how it is written, and its value for a number. */
export const keyTypes = {
  integer: { type: 'integer', value: (n: string) => `(${n}) - 400` },
  smallint: { type: 'smallint', value: (n: string) => `(${n})::smallint` },
  bigint: { type: 'bigint', value: (n: string) => `(${n})::bigint * 9007199254740 - 4000000000000000` },
  numeric: { type: 'numeric', value: (n: string) => `(${n})::numeric / 7` },
  real: { type: 'real', value: (n: string) => `((${n}) * 1.1)::real` },
  double: { type: 'double precision', value: (n: string) => `pi() * (${n})` },
  text: { type: 'text', value: (n: string) => `md5((${n})::text)` },
  mixed: { type: 'text', value: (n: string) => `(array['a','B','_','Z ','-z'])[1 + (${n}) % 5] || (${n})` },
  varchar: { type: 'varchar(40)', value: (n: string) => `'O''Brien "\\" ' || (${n})` },
  char: { type: 'char(12)', value: (n: string) => `'k' || (${n})` },
  uuid: { type: 'uuid', value: (n: string) => `md5((${n})::text)::uuid` },
  timestamptz: {
    type: 'timestamptz',
    value: (n: string) => `timestamptz '2026-03-28 23:00:00.000001+00' + (${n}) * interval '13 seconds'`,
  },
  timestamp: {
    type: 'timestamp',
    value: (n: string) => `timestamp '1999-12-31 23:59:59.5' + (${n}) * interval '7 hours'`,
  },
  date: { type: 'date', value: (n: string) => `date '0044-03-15 BC' + (${n}) * 3` },
  interval: { type: 'interval', value: (n: string) => `(${n}) * interval '1 day 2 hours' - interval '1 year'` },
  inet: { type: 'inet', value: (n: string) => `inet '10.0.0.0' + (${n})` },
  bytea: { type: 'bytea', value: (n: string) => `decode(md5((${n})::text), 'hex')` },
  boolean: { type: 'boolean', value: (n: string) => `(${n}) % 2 = 0` },
} as const

/** What may be around a table that is changed. None of it keeps a row from being changed. */
const surroundings = [
  'touching trigger',
  'statement trigger',
  'deferred trigger',
  'child',
  'generated',
  'check',
] as const

/** Names of our outputs, keywords, functions, and what has to be quoted. */
const names = (
  'key,values,value,rows,row,last,found,part,step,start,known,at,n,b,o,t,id,ahead,moved,here,count,max,now,array,' +
  'order,user,select,from,limit,table,time,Key,two words,a"b,a$b,offset,window,current_user,ctid_,xmin_,x;y,a--b,it\'s'
).split(',')

const settings: Record<string, readonly string[]> = {
  default_transaction_isolation: ['repeatable read', 'serializable', 'read committed'],
  default_transaction_deferrable: ['on'],
  datestyle: ['German', 'SQL, DMY', 'Postgres, MDY', 'ISO, YMD'],
  intervalstyle: ['sql_standard', 'iso_8601', 'postgres_verbose'],
  extra_float_digits: ['0', '-5', '3'],
  standard_conforming_strings: ['off'],
  backslash_quote: ['on'],
  bytea_output: ['escape'],
  timezone: ['Asia/Tokyo', 'America/St_Johns', 'Pacific/Chatham', 'UTC'],
  search_path: ['nowhere', "''", 'pg_temp, public', 'sluice, public'],
  statement_timeout: ['20ms', '1min'],
  lock_timeout: ['1ms'],
  idle_in_transaction_session_timeout: ['50ms'],
  idle_session_timeout: ['100ms'],
  client_min_messages: ['debug1', 'error'],
  transform_null_equals: ['on'],
  array_nulls: ['on'],
  quote_all_identifiers: ['on'],
  row_security: ['off'],
  plan_cache_mode: ['force_generic_plan', 'force_custom_plan'],
  enable_indexscan: ['off'],
  enable_seqscan: ['off'],
  random_page_cost: ['100'],
  join_collapse_limit: ['1'],
  work_mem: ['64kB'],
  synchronous_commit: ['off'],
  jit: ['on'],
  jit_above_cost: ['0'],
  check_function_bodies: ['off'],
  lc_messages: ['C'],
  xmloption: ['document'],
  gin_fuzzy_search_limit: ['1'],
  max_parallel_workers_per_gather: ['4'],
  min_parallel_table_scan_size: ['0'],
}

const someSettings = fc
  .uniqueArray(fc.constantFrom(...Object.keys(settings)), { maxLength: 6 })
  .chain((chosen) =>
    fc.record(Object.fromEntries(chosen.map((name) => [name, fc.constantFrom(...(settings[name] ?? []))]))),
  ) as fc.Arbitrary<Record<string, string>>

const types = Object.keys(keyTypes) as KeyType[]
/** A boolean is no key by itself, and a smallint has room for every number. */
const lastTypes = types.filter((type) => type !== 'boolean')

const plans: fc.Arbitrary<StrangePlan> = fc
  .record({
    encoding: fc.constantFrom(
      'UTF8' as const,
      'UTF8' as const,
      'LATIN1' as const,
      'EUC_JP' as const,
      'SQL_ASCII' as const,
    ),
    database: someSettings,
    account: someSettings,
    schema: fc.constantFrom('public', 'Shop', 'order'),
    table: fc.constantFrom('items', 'user', 'Two Words', 'a"b', 'key', 'batch', 'operation'),
    key: fc
      .tuple(fc.array(fc.constantFrom(...types), { maxLength: 2 }), fc.constantFrom(...lastTypes))
      .map(([leading, last]) => [...leading, last])
      .chain((chosen) =>
        fc
          .uniqueArray(fc.constantFrom(...names), { minLength: chosen.length, maxLength: chosen.length })
          .map((called) => chosen.map((type, i) => ({ name: called[i] ?? '', type }))),
      ),
    stamp: fc.constantFrom('created_at', 'now', 'timestamp', 'When?'),
    counter: fc.constantFrom('touched', 'set', 'rowcount', 'excluded'),
    collation: fc.constantFrom('default', 'C', 'POSIX', 'en-x-icu', 'de-x-icu'),
    partitioned: fc.boolean(),
    rows: fc.integer({ min: 120, max: 1_500 }),
    surroundings: fc.uniqueArray(fc.constantFrom(...surroundings), { maxLength: 3 }),
  })
  // Two columns of a table have two names.
  .filter(({ key, stamp }) => key.every(({ name }) => name !== stamp))

/** The plan of a seed. ICU's collations are for UTF8 and the like only. */
export function strangePlan(seed: number): StrangePlan {
  const [plan] = fc.sample(plans, { seed, numRuns: 1 })
  if (plan === undefined) throw new Error('there is no plan')
  return plan.encoding === 'SQL_ASCII' && plan.collation.endsWith('icu') ? { ...plan, collation: 'C' } : plan
}
