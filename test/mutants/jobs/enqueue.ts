import type { Mutant } from '../mutant.ts'

const schema = 'src/store/migrations/0006_create_jobs.sql'
const forTests = 'src/store/for-tests.ts'
const realQueue = 'test/testing/real-queue.test.ts'
const changes = 'test/jobs/unique-changes.test.ts'
const mayStart = '\n          and (j.unique_hash is null or sluice.may_start(j.unique_hash, j.id))'

/** Guards on the way in, and of tools for tests. */
export const jobEnqueue: readonly Mutant[] = [
  {
    name: 'tests-on-any-database',
    breaks: 'tools for tests never meet a real queue: no database is looked at',
    edits: [{ file: forTests, from: 'database.marked || isTestName(database.name)', to: 'database.name !== ""' }],
    caughtBy: { file: realQueue, test: 'is refused by clear, and its queue stays' },
  },
  {
    name: 'tests-in-production',
    breaks: 'tools for tests never meet a real queue: production is not looked at',
    edits: [{ file: forTests, from: `env['NODE_ENV'] === 'production'`, to: `env['NODE_ENV'] === ''` }],
    caughtBy: { file: realQueue, test: 'in production even a database for tests is refused' },
  },
  {
    name: 'refusal-taken-for-an-ending',
    breaks: 'tools for tests never meet a real queue: what a rehearsal is refused looks like a failure of the job',
    edits: [{ file: 'src/jobs/rehearsal.ts', from: `error.code === 'DATABASE_NOT_FOR_TESTS'`, to: 'error.code === undefined' }],
    caughtBy: { file: realQueue, test: 'is refused by run of a transactional job, and its queue stays' },
  },
  {
    name: 'missing-database-guessed',
    breaks: 'a missing variable does not lead to another database: an option without a value counts as left out',
    edits: [
      {
        file: 'src/config/resolve.ts',
        from: 'if (!(option in config) ||',
        to: 'if (option in config || !(option in config) ||',
      },
    ],
    caughtBy: {
      file: realQueue,
      test: 'a database or schema that is given without a value is refused; left out, the environment decides',
    },
  },
  ...(
    [
      ['is new', `and not (listed @> j.id) and j.class_id = any(p_class_ids)`],
      ['was scheduled and is due', `\n          and j.class_id = any(p_class_ids)`],
      ['is next in line', `and j.claim_id is null and j.crashes = 0 and j.class_id = any(p_class_ids)`],
    ] as const
  ).map(
    ([state, before], i): Mutant => ({
      name: `start-before-${['new', 'due', 'next'][i]}`,
      breaks: `a job that has a key sees the changes of those who found it taken: one that ${state} does not wait`,
      edits: [{ file: schema, from: `${before}${mayStart}`, to: before }],
      caughtBy: { file: changes, test: `and that ${state} starts when that has committed` },
    }),
  ),
  {
    name: 'duplicate-locks-nothing',
    breaks: 'a job that has a key sees the changes of those who found it taken: they do not lock the key',
    edits: [{ file: schema, from: '        for key share\n      )', to: '      )' }],
    caughtBy: {
      file: changes,
      test: 'the index that the trigger of the manual keeps has every change, also one that was open when its job was due',
    },
  },
  {
    name: 'key-kept-while-counted-on',
    breaks: 'a job starts though there is always a transaction that counts on it: it keeps its key while it waits',
    edits: [
      {
        file: schema,
        from: 'and k.until = 0 and k.expires_at > clock_timestamp()\n    for no key update',
        to: 'and k.until = 0 and false\n    for no key update',
      },
    ],
    caughtBy: {
      file: changes,
      test: 'gives its key up once it is due, so that it starts though there is always one, and the next waits in its place',
    },
  },
  {
    name: 'counted-on-key-outlives-its-job',
    breaks: 'a unique key is freed with the end of its job: one that a transaction has met in use is left to the dead',
    edits: [
      {
        file: schema,
        from: 'where k.hash = any(hashes) and k.job_id = any(p_ids)',
        to: 'where false and k.hash = any(hashes) and k.job_id = any(p_ids)',
      },
    ],
    caughtBy: { file: changes, test: 'can be cancelled, and its key is free then' },
  },
]
