import type { Mutant } from '../mutant.ts'

const claimJobs = 'src/store/schema/functions/claim_jobs.sql'
const endJobs = 'src/store/schema/functions/end_jobs.sql'
const enqueueJobs = 'src/store/schema/functions/enqueue.sql'
const forTests = 'src/store/for-tests.ts'
const realQueue = 'test/testing/real-queue.test.ts'
const changes = 'test/jobs/unique-changes.test.ts'
const outside = 'test/jobs/outside-transactions.test.ts'
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
    edits: [
      {
        file: 'src/jobs/rehearsal.ts',
        from: `error.code === 'DATABASE_NOT_FOR_TESTS'`,
        to: 'error.code === undefined',
      },
    ],
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
      ['new', 'is new', 'order by j.queue_id, j.priority, j.id\n        limit room'],
      ['due', 'was scheduled and is due', 'order by j.run_at'],
      ['next', 'is next in line', 'order by j.queue_id, j.priority, j.id\n        limit p_limit'],
    ] as const
  ).map(([name, state, after]): Mutant => ({
    name: `start-before-${name}`,
    breaks: `a job that has a key sees the changes of those who found it taken: one that ${state} does not wait`,
    edits: [{ file: claimJobs, from: `${mayStart}\n        ${after}`, to: `\n        ${after}` }],
    caughtBy: { file: changes, test: `and that ${state} starts when that has committed` },
  })),
  {
    name: 'duplicate-locks-nothing',
    breaks: 'a job that has a key sees the changes of those who found it taken: they do not lock the key',
    edits: [{ file: enqueueJobs, from: '        for key share\n      )', to: '      )' }],
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
        file: claimJobs,
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
        file: endJobs,
        from: 'where k.hash = any(hashes) and k.job_id = any(p_ids)',
        to: 'where false and k.hash = any(hashes) and k.job_id = any(p_ids)',
      },
    ],
    caughtBy: { file: changes, test: 'can be cancelled, and its key is free then' },
  },
  {
    name: 'shared-statement-waits-for-locks',
    breaks: 'an open transaction delays nobody but those who want its keys: a shared statement waits for its locks',
    edits: [{ file: 'src/store/coalescer.ts', from: 'const sharedLockMs = 50', to: 'const sharedLockMs = 60_000' }],
    caughtBy: {
      file: 'test/jobs/locked-keys.test.ts',
      test: 'a unique key of an open transaction makes nobody wait but those who want it',
    },
  },
  {
    name: 'locked-call-tried-for-ever',
    breaks: 'an enqueue ends when the lock limit is over: one that waits for a lock is tried again and again',
    edits: [
      {
        file: 'src/store/coalescer.ts',
        from: 'if (performance.now() - one.lockedSince >= patienceMs) {',
        to: 'if (performance.now() - one.lockedSince >= patienceMs * 1e6) {',
      },
    ],
    caughtBy: {
      file: 'test/jobs/locked-keys.test.ts',
      test: 'whoever waits for a unique key gives up when the lock limit is over, each for itself',
    },
  },
  {
    name: 'notification-in-every-transaction',
    breaks: 'an application commits many transactions at a time: those that enqueue carry a notification',
    edits: [
      {
        file: 'src/store/jobs/enqueuer.ts',
        from: 'enqueue(connection, { jobs, notify: inside })',
        to: 'enqueue(connection, { jobs, notify: !inside })',
      },
    ],
    caughtBy: {
      file: 'test/jobs/listen.test.ts',
      test: 'a transaction that enqueues carries no notification unless it asks for one',
    },
  },
  {
    name: 'no-hint-beside-a-transaction',
    breaks: 'a worker hears of jobs of a transaction soon: no hint follows it',
    edits: [
      {
        file: 'src/store/jobs/enqueuer.ts',
        from: '    this.hintSoon(database)\n    return recorded',
        to: '    return recorded',
      },
    ],
    caughtBy: {
      file: 'test/jobs/listen.test.ts',
      test: 'a worker hears of jobs that were enqueued in a transaction of another process',
    },
  },
  {
    name: 'digits-lost',
    breaks: 'args reach the handler unchanged: a number that JavaScript cannot hold comes in by SQL',
    edits: [{ file: enqueueJobs, from: 'g.given::float8::text::numeric <> g.given', to: 'g.given is null' }],
    caughtBy: {
      file: 'test/jobs/bad-input.test.ts',
      test: 'what SQL gives to sluice.enqueue is refused in clear words, or reaches the handler unchanged',
    },
  },
  {
    name: 'pool-for-a-transaction',
    breaks: 'a job exists when, and only when, its transaction commits: a pool counts as a transaction',
    edits: [{ file: 'src/store/connection.ts', from: `'totalCount' in connection &&`, to: 'false &&' }],
    caughtBy: { file: outside, test: 'enqueue refuses a pool, and records nothing' },
  },
  {
    name: 'client-outside-a-transaction',
    breaks: 'a job exists when, and only when, its transaction commits: a client without one counts as well',
    edits: [{ file: 'src/store/connection.ts', from: `client.getTransactionStatus() === 'I'`, to: `false` }],
    caughtBy: {
      file: outside,
      test: 'enqueue refuses a client before its begin and after its end, and records nothing',
    },
  },
  {
    name: 'unknown-option-ignored',
    breaks: 'an option that has no effect is refused: enqueue does not look at the names of its options',
    edits: [{ file: 'src/jobs/enqueue.ts', from: 'if (wrong === undefined) return', to: 'if (wrong !== "") return' }],
    caughtBy: { file: 'test/jobs/enqueue.test.ts', test: 'an option that there is not' },
  },
  {
    name: 'cause-not-looked-at',
    breaks: 'rules see why an error came: causes are not looked at',
    edits: [
      {
        file: 'src/std/error-chain.ts',
        from: 'let level = causesOf(thrown)',
        to: 'let level = causesOf(undefined)',
      },
    ],
    caughtBy: { file: 'test/jobs/verdicts.test.ts', test: 'a rule sees why fetch failed, and the attempt keeps it' },
  },
  {
    name: 'causes-without-end',
    breaks:
      'an error is looked at in bounded time, whatever it says it comes from: a cause that came before counts anew',
    edits: [
      {
        file: 'src/std/error-chain.ts',
        from: '.filter((one) => !chain.includes(one))',
        to: '',
      },
    ],
    caughtBy: { file: 'test/std/std.test.ts', test: 'end where causes do not' },
  },
]
