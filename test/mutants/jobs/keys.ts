import type { Mutant } from '../mutant.ts'

const settle = 'src/store/jobs/settle.ts'
const rescue = 'src/store/jobs/rescue.ts'
const claimJobs = 'src/store/schema/functions/claim_jobs.sql'
const endJobs = 'src/store/schema/functions/end_jobs.sql'
const enqueueJobs = 'src/store/schema/functions/enqueue.sql'
const keyFunctions = 'src/store/schema/functions/job_keys.sql'
const jobTables = 'src/store/schema/tables/0004_jobs.sql'
const unique = 'test/jobs/unique-guards.test.ts'
const admission = 'test/jobs/admission-guards.test.ts'

/** The statements that end a job; each frees the keys of those that it has ended. */
const endings = [
  { verb: 'completes', file: endJobs, ended: 'done', indent: '          ' },
  { verb: 'buries', file: settle, ended: 'gone', indent: '         ' },
  { verb: 'quarantines', file: rescue, ended: 'gone', indent: '         ' },
  { verb: 'cancels', file: endJobs, ended: 'gone', indent: '          ' },
]

/** Guards of unique keys and of concurrency keys. */
export const jobKeys: readonly Mutant[] = [
  ...endings.flatMap(({ verb, file, ended, indent }): Mutant[] => {
    const hashes = `where l.hash = any(array(select unique_hash from ${ended} where unique_hash is not null))`
    const owners = `and l.job_id = any(array(select id from ${ended} where unique_hash is not null))`
    const from = `${hashes}\n${indent}${owners}`
    return [
      {
        name: `key-kept-by-what-${verb}`,
        breaks: `a unique key is freed with the end of its job: the statement that ${verb} a job frees none`,
        edits: [{ file, from, to: `${hashes} and false` }],
        caughtBy: { file: unique, test: `the statement that ${verb} a job frees its unique key` },
      },
      {
        name: `foreign-key-freed-by-what-${verb}`,
        breaks: `a unique key keeps duplicates out: the statement that ${verb} a job frees the key of its successor`,
        edits: [{ file, from, to: hashes }],
        caughtBy: {
          file: unique,
          test: `the statement that ${verb} a job leaves a unique key alone that another job has now`,
        },
      },
    ]
  }),
  {
    name: 'unique-key-without-index',
    breaks: 'of any number of enqueuers one wins a key: nothing keeps two transactions from taking the same one',
    edits: [
      { file: jobTables, from: 'hash       uuid primary key', to: 'hash       uuid not null' },
      { file: enqueueJobs, from: 'on conflict (hash) do nothing', to: 'on conflict do nothing' },
    ],
    caughtBy: { file: unique, test: 'of two transactions that want the same unique key at once one gets it' },
  },
  {
    name: 'live-key-taken-over',
    breaks: 'of any number of enqueuers one wins a key: a key is taken over whether it has expired or not',
    edits: [
      {
        file: enqueueJobs,
        from: 'where l.hash = g.hash and l.expires_at <= clock_timestamp()',
        to: 'where l.hash = g.hash',
      },
    ],
    caughtBy: { file: unique, test: 'of two transactions that take over an expired unique key at once one gets it' },
  },
  {
    name: 'key-freed-by-any-claim',
    breaks: 'a key until success is taken until then: a claim frees it',
    edits: [{ file: claimJobs, from: 'and l.job_id = any(owners) and l.until = 0', to: 'and l.job_id = any(owners)' }],
    caughtBy: { file: unique, test: 'a claim frees a unique key that holds until the start, and no other' },
  },
  {
    name: 'key-kept-by-claim',
    breaks: 'a key until start is free from then on: a claim frees none',
    edits: [{ file: claimJobs, from: 'if cardinality(hashes) > 0 then', to: 'if false then' }],
    caughtBy: { file: unique, test: 'a claim frees a unique key that holds until the start, and no other' },
  },
  {
    name: 'admitted-jobs-not-counted',
    breaks: 'no more jobs of a key run at once than its limit: those that were let in before are not counted',
    edits: [
      {
        file: keyFunctions,
        from: 'select j.key_limit - (select count(*) from sluice.job l where l.key_hash = k and l.state = inside)',
        to: 'select j.key_limit',
      },
    ],
    caughtBy: { file: admission, test: 'those that were let in under a key count against its limit' },
  },
  {
    name: 'admission-not-locked',
    breaks: 'no more jobs of a key run at once than its limit: two that let jobs in do not see each other',
    edits: [{ file: keyFunctions, from: 'perform sluice.lock_job_keys(keys);', to: '' }],
    caughtBy: {
      file: admission,
      test: 'two that let jobs in under the same key do not exceed its limit, also where its lock has a row already',
    },
  },
  {
    name: 'key-place-not-made',
    breaks: 'no more jobs of a key run at once than its limit: a key whose lock has no row yet is not locked',
    edits: [
      {
        file: keyFunctions,
        from: 'insert into sluice.job_key_turn (place) values (p) on conflict do nothing;',
        to: '',
      },
    ],
    caughtBy: { file: admission, test: 'two that let jobs in under the same key at once do not exceed its limit' },
  },
  {
    name: 'key-places-out-of-order',
    breaks: 'two that let jobs in never wait for each other for good: they lock keys in the order of their hashes',
    edits: [
      {
        file: keyFunctions,
        from: 'for p in select distinct (k & 65535)::integer from unnest(keys) k where k is not null order by 1 loop',
        to: 'for p in select (k & 65535)::integer from unnest(keys) k where k is not null order by k loop',
      },
    ],
    caughtBy: { file: admission, test: 'whoever waits for the lock of one key holds none that comes later' },
  },
  {
    name: 'key-locked-by-anybody',
    breaks: 'only functions of ours lock keys: any login can keep jobs with a key from starting',
    edits: [
      {
        file: keyFunctions,
        from: 'perform sluice.lock_job_keys(keys);',
        to: "perform sluice.lock_job_keys(keys);\n  perform pg_advisory_xact_lock(hashtextextended('sluice.job_key', h)) from unnest(keys) h;",
      },
    ],
    caughtBy: {
      file: 'test/store/advisory-locks.test.ts',
      test: 'a login that holds advisory locks keeps no job with a concurrency key from being let in',
    },
  },
  {
    name: 'ending-admits-nobody',
    breaks: 'the end of a keyed job lets the next one in: it is left to the next sweep',
    edits: [
      {
        file: 'src/store/jobs/endings.ts',
        from: 'keys.length === 0 ? [] : await settle.admitBehind(connection, { keys })',
        to: '[] as { admitted: number }[]',
      },
    ],
    caughtBy: { file: admission, test: 'a keyed job ends and lets the next one in by the same commit' },
  },
  {
    name: 'ending-admits-later',
    breaks: 'the end of a keyed job lets the next one in: it does so in a transaction of its own, which may not come',
    edits: [{ file: 'src/store/jobs/postgres-queue.ts', from: ' && !ending.keyed', to: '' }],
    caughtBy: { file: admission, test: 'a keyed job ends and lets the next one in by the same commit' },
  },
  {
    name: 'sweep-admits-nobody',
    breaks: 'no blocked job waits for ever: the sweep finds no key that has room',
    edits: [
      { file: keyFunctions, from: '(where k.key_limit > k.inside)', to: '(where false and k.key_limit > k.inside)' },
    ],
    caughtBy: {
      file: admission,
      test: 'a sweep lets in what has room and nobody let in, and what is scheduled only when it is due',
    },
  },
  {
    name: 'keyed-job-before-its-time',
    breaks: 'a scheduled job waits for its time: with a key it is let in as soon as there is room',
    edits: [
      { file: keyFunctions, from: 'where state = 3 and run_at <= statement_timestamp()\n', to: 'where state = 3\n' },
    ],
    caughtBy: {
      file: admission,
      test: 'a sweep lets in what has room and nobody let in, and what is scheduled only when it is due',
    },
  },
  {
    name: 'admission-not-swept',
    breaks: 'no blocked job waits for ever: no worker looks for keys that have room',
    edits: [
      {
        file: 'src/store/jobs/maintenance.ts',
        from: 'await admitWaiting(control, { after: this.#after })',
        to: '{ admitted: 0, next: null }',
      },
    ],
    caughtBy: { file: 'test/jobs/rescue-guards.test.ts', test: 'a sweep of a worker frees, isolates and lets in' },
  },
]
