import type { Mutant } from '../mutant.ts'

const rescue = 'src/store/jobs/rescue.ts'
const claims = 'src/store/jobs/claimer.ts'
const claimJobs = 'src/store/schema/functions/claim_jobs.sql'
const rescues = 'test/jobs/rescue-guards.test.ts'
const queues = 'test/jobs/queue-guards.test.ts'
const contract = 'test/contracts/queue-postgres.test.ts'

/** Guards of the recovery after a crash, and of the switches of queues. */
export const jobRecovery: readonly Mutant[] = [
  {
    name: 'job-rescued-without-guard',
    breaks: 'only what a silent worker holds is freed: jobs are freed that it held once and others hold now',
    edits: [
      {
        file: rescue,
        from: 'j.id < upper(r) and (j.claim_id = g.id or j.state = 0)\n     for',
        to: 'j.id < upper(r)\n     for',
      },
      { file: rescue, from: 'and (j.claim_id = f.claim_id or j.state = 0)', to: '' },
    ],
    caughtBy: {
      file: rescues,
      test: 'a sweep frees what a silent worker holds, and not what others have claimed since',
    },
  },
  {
    name: 'living-worker-robbed',
    breaks: 'only what a silent worker holds is freed: its signs of life are not looked at',
    edits: [
      {
        file: rescue,
        from: `
       and not exists (select from sluice.worker w where w.id = c.worker_id
                         and w.seen_at > clock_timestamp() - $1 * interval '1 millisecond')`,
        to: '',
      },
    ],
    caughtBy: { file: rescues, test: 'a sweep frees nothing of a worker that gives signs of life' },
  },
  {
    name: 'young-claim-rescued',
    breaks: 'only what a silent worker holds is freed: a claim of this moment is freed before its first sign of life',
    edits: [
      {
        file: rescue,
        from: "where c.claimed_at < clock_timestamp() - $1 * interval '1 millisecond'\n",
        to: 'where true\n',
      },
    ],
    caughtBy: { file: contract, test: 'what was claimed a moment ago is left alone' },
  },
  {
    name: 'sweep-waits-for-locks',
    breaks: 'a job in an open transaction holds up no other: the sweep waits for its lock',
    edits: [{ file: rescue, from: 'for update of j skip locked', to: 'for update of j' }],
    caughtBy: {
      file: rescues,
      test: 'a sweep leaves a job that a transaction has locked to the next sweep, and its claim with it',
    },
  },
  {
    name: 'claim-dropped-with-a-job-left',
    breaks: 'a claimed job is claimed by nobody else: the sweep drops a claim of which it could not free every job',
    edits: [
      {
        file: rescue,
        from: `
       and not exists (select from unnest(g.job_ids) r
                       join sluice.job j on j.id >= lower(r) and j.id < upper(r) and (j.claim_id = g.id or j.state = 0)
                       where j.id not in (select id from free))`,
        to: '',
      },
    ],
    caughtBy: {
      file: rescues,
      test: 'a sweep leaves a job that a transaction has locked to the next sweep, and its claim with it',
    },
  },
  {
    name: 'crash-not-counted',
    breaks: 'a job that kills its workers is isolated: their deaths are not counted',
    edits: [{ file: rescue, from: 'crashes = j.crashes + 1', to: 'crashes = j.crashes' }],
    caughtBy: {
      file: rescues,
      test: 'a sweep frees what a silent worker holds, and not what others have claimed since',
    },
  },
  {
    name: 'poison-claimed-again',
    breaks: 'a job that kills its workers is isolated: it is claimed a fourth time',
    edits: [{ file: claimJobs, from: 'j.crashes = 2', to: 'j.crashes >= 2' }],
    caughtBy: { file: rescues, test: 'a job on which three workers have died is isolated, and never claimed again' },
  },
  {
    name: 'innocent-job-isolated',
    breaks: 'a job is isolated after its third crash: it is isolated after any',
    edits: [{ file: rescue, from: 'j.crashes >= $1', to: 'j.crashes >= least($1, 1)' }],
    caughtBy: { file: rescues, test: 'a job on which three workers have died is isolated, and never claimed again' },
  },
  {
    name: 'poison-isolated-late',
    breaks: 'a job is isolated after its third crash: the sweep of a worker waits for a fourth, which never comes',
    edits: [{ file: 'src/jobs/chores.ts', from: 'const poisonCrashes = 3', to: 'const poisonCrashes = 4' }],
    caughtBy: { file: rescues, test: 'a sweep of a worker frees, isolates and lets in' },
  },
  {
    name: 'paused-queue-served',
    breaks: 'a paused queue starts nothing: workers take jobs from it all the same',
    edits: [{ file: claims, from: '.filter(({ paused }) => !paused)', to: '' }],
    caughtBy: { file: contract, test: 'a worker takes nothing from a paused queue, and from the others it does' },
  },
  {
    name: 'tokens-without-end',
    breaks: 'a queue starts no more jobs than its rate allows: as many tokens are granted as are wanted',
    edits: [
      { file: 'src/store/jobs/claim.ts', from: 'least(floor(tokens), $2)::int as granted', to: '$2::int as granted' },
    ],
    caughtBy: { file: queues, test: 'a queue with a rate grants the tokens that it has, and then none' },
  },
  {
    name: 'tokens-granted-twice',
    breaks: 'a queue starts no more jobs than its rate allows: two workers take the same tokens at once',
    edits: [
      {
        file: 'src/store/jobs/claim.ts',
        from: 'where id = $1 and rate_limit is not null\n     for update\n',
        to: 'where id = $1 and rate_limit is not null\n',
      },
    ],
    caughtBy: { file: queues, test: 'two workers that take tokens at once do not get the same ones' },
  },
  {
    name: 'tokens-ignored',
    breaks: 'a queue starts no more jobs than its rate allows: a worker claims more than it was granted',
    edits: [{ file: claims, from: 'let left = tokens?.granted ?? 0', to: 'let left = order.limit' }],
    caughtBy: {
      file: queues,
      test: 'a worker takes a token for each job of a queue with a rate, and returns the rest',
    },
  },
  {
    name: 'tokens-kept',
    breaks: 'a queue starts as many jobs as its rate allows: tokens for which there was no job are lost',
    edits: [
      { file: claims, from: 'if (left > 0) await returnTokens(control, { queueId: queue.id, count: left })', to: '' },
    ],
    caughtBy: {
      file: queues,
      test: 'a worker takes a token for each job of a queue with a rate, and returns the rest',
    },
  },
  {
    name: 'queue-denied-between-looks',
    breaks: 'a queue that is there is not denied: one that was made between the two looks is',
    edits: [
      {
        file: 'src/jobs/queues.ts',
        from: "if (names.includes(queue) && (await this.#queue.act('queue', act))) return",
        to: 'if (names.length < 0) return',
      },
    ],
    caughtBy: {
      file: 'test/jobs/queues.test.ts',
      test: 'a queue that is made between two looks is paused, and not denied',
    },
  },
]
