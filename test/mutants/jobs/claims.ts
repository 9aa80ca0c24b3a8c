import type { Mutant } from '../mutant.ts'

const claims = 'src/store/jobs/claimer.ts'
const claimJobs = 'src/store/schema/functions/claim_jobs.sql'
const endJobs = 'src/store/schema/functions/end_jobs.sql'
const jobTables = 'src/store/schema/tables/0004_jobs.sql'
const guards = 'test/jobs/claim-guards.test.ts'
const lost = 'test/jobs/lost-answers.test.ts'

const markedUnguarded = {
  file: claimJobs,
  from: 'where j.ctid = any(picked) and j.claim_id is null',
  to: 'where j.ctid = any(picked)',
}

/** Guards of claims, and of who may end a job that waits. */
export const jobClaims: readonly Mutant[] = [
  {
    name: 'claims-not-locked',
    breaks: 'a new job has one holder: two workers look for new jobs at the same time, and both get it',
    edits: [
      {
        file: claimJobs,
        from: 'perform sluice.lock_claims();\n    -- First the lists',
        to: '-- First the lists',
      },
    ],
    caughtBy: { file: guards, test: 'of two workers that look at the same time only one gets a new job' },
  },
  {
    name: 'claimed-in-old-snapshot',
    breaks: 'a job has one holder: a claim whose snapshot is older than its lock takes what others have',
    edits: [{ file: claimJobs, from: "  perform sluice.require_read_committed('sluice.claim_jobs');\n", to: '' }],
    caughtBy: { file: guards, test: 'to claim in a transaction that is repeatable read is refused' },
  },
  {
    name: 'new-job-claimed-twice',
    breaks: 'a new job has one holder: jobs on the list of another claim are claimed again',
    edits: [{ file: claimJobs, from: 'and not (listed @> j.id) and j.class_id', to: 'and j.class_id' }],
    caughtBy: { file: guards, test: 'a job that was new and is claimed is not claimed again' },
  },
  {
    name: 'next-job-claimed-twice',
    breaks: 'a job has one holder: a job that is next in line and marked by a claim is claimed again',
    edits: [{ file: claimJobs, from: 'j.claim_id is null and j.crashes = 0', to: 'j.crashes = 0' }, markedUnguarded],
    caughtBy: { file: guards, test: 'a job that was next in line and is claimed is not claimed again' },
  },
  {
    name: 'due-job-claimed-twice',
    breaks: 'a job has one holder: a job that is due and marked by a claim is claimed again',
    edits: [
      {
        file: claimJobs,
        from: 'j.run_at <= statement_timestamp() and j.claim_id is null\n',
        to: 'j.run_at <= statement_timestamp()\n',
      },
      markedUnguarded,
    ],
    caughtBy: { file: guards, test: 'a job that was due and is claimed is not claimed again' },
  },
  {
    name: 'unknown-new-job-claimed',
    breaks: 'a job waits for a worker that knows it: new jobs of any name are claimed',
    edits: [
      {
        file: claimJobs,
        from: 'and not (listed @> j.id) and j.class_id = any(class_ids)',
        to: 'and not (listed @> j.id)',
      },
    ],
    caughtBy: { file: guards, test: 'a worker leaves a job alone that is new and whose name it does not know' },
  },
  {
    name: 'unknown-next-job-claimed',
    breaks: 'a job waits for a worker that knows it: jobs of any name are claimed when they are next in line',
    edits: [{ file: claimJobs, from: 'j.crashes = 0 and j.class_id = any(class_ids)', to: 'j.crashes = 0' }],
    caughtBy: {
      file: guards,
      test: 'a worker leaves a job alone that is next in line and whose name it does not know',
    },
  },
  {
    name: 'unknown-due-job-claimed',
    breaks: 'a job waits for a worker that knows it: jobs of any name are claimed when they are due',
    edits: [
      {
        file: claimJobs,
        from: 'j.run_at <= statement_timestamp() and j.claim_id is null\n          and j.class_id = any(class_ids)\n',
        to: 'j.run_at <= statement_timestamp() and j.claim_id is null\n',
      },
    ],
    caughtBy: { file: guards, test: 'a worker leaves a job alone that is due and whose name it does not know' },
  },
  {
    name: 'job-ended-while-claimed',
    breaks: 'a claimed job is ended by its holder alone: a person ends a new job that a worker is just claiming',
    edits: [
      {
        file: endJobs,
        from: `if exists (select from sluice.job j where j.id = any(p_ids) and j.state = 0) then
    perform sluice.lock_claims();
  end if;`,
        to: '',
      },
    ],
    caughtBy: {
      file: guards,
      test: 'a person who cancels a new job while a worker claims it asks that worker to stop',
    },
  },
  {
    name: 'marked-job-ended-by-person',
    breaks: 'a claimed job is ended by its holder alone: a person ends a job that a claim has marked',
    edits: [
      {
        file: endJobs,
        from: 'where j.id = any(p_ids) and j.claim_id is null\n        and not (j.state = 0 and exists (select from listed',
        to: 'where j.id = any(p_ids)\n        and not (j.state = 0 and exists (select from listed',
      },
    ],
    caughtBy: { file: guards, test: 'a person cannot end a job that was next in line and is claimed' },
  },
  {
    name: 'listed-job-ended-by-person',
    breaks: 'a claimed job is ended by its holder alone: a person ends a new job on the list of a claim',
    edits: [
      { file: endJobs, from: 'and not (j.state = 0 and exists (select from listed l where l.r @> j.id))\n', to: '\n' },
    ],
    caughtBy: { file: guards, test: 'a person cannot end a job that was new and is claimed' },
  },
  {
    name: 'doubtful-claim-forgotten',
    breaks: 'nothing stays claimed unheard: after a lost answer to a claim its nonce is forgotten',
    edits: [{ file: claims, from: 'this.#doubtful.set(claimId, performance.now())', to: '' }],
    caughtBy: {
      file: lost,
      test: 'a worker that loses the answer to a claim gives the jobs back before it claims again',
    },
  },
  {
    name: 'doubtful-claim-asked-about-once',
    breaks: 'nothing stays claimed unheard: a nonce is given up while the server may still be at its claim',
    edits: [{ file: claims, from: 'if (now - since > doubtMs) this', to: 'if (since <= now) this' }],
    caughtBy: { file: lost, test: 'a worker gives back what the server claims for it after the connection has broken' },
  },
  {
    name: 'job-given-back-without-guard',
    breaks: 'a stale worker changes nothing: who gives a claim back frees jobs that others have claimed since',
    edits: [
      {
        file: 'src/store/jobs/claim.ts',
        from: 'and j.id < upper(r) and (j.claim_id = c.id or j.state = 0)',
        to: 'and j.id < upper(r)',
      },
    ],
    caughtBy: {
      file: 'test/jobs/stale-claims.test.ts',
      test: 'a worker that gives a lost claim back leaves the jobs that others have claimed since',
    },
  },
  {
    name: 'claims-floor-outlives-server',
    breaks: 'a new job has one holder: after a crash of the server, claims below a remembered floor are not seen',
    edits: [{ file: claimJobs, from: 'case when l.id || era = p_life and', to: 'case when' }],
    caughtBy: {
      file: 'test/jobs/claim-and-complete.test.ts',
      test: 'after a crash of the server, what a worker remembers of claims counts for nothing',
    },
  },
  {
    name: 'job-floors-outlive-server',
    breaks: 'after a crash of the server all jobs are looked at again: those below the last one seen are left out',
    edits: [
      {
        file: claims,
        from: 'if (this.#floor.life !== null && floor.life !== this.#floor.life) this.#floors.forget()',
        to: '',
      },
    ],
    caughtBy: {
      file: 'test/jobs/queue-guards.test.ts',
      test: 'a worker looks at all jobs again after a crash of the server',
    },
  },
  {
    name: 'server-life-survives-crash',
    breaks:
      'what is remembered of claims ends with the life of the server: the crash of a session begins no other life',
    edits: [
      { file: jobTables, from: 'create unlogged table sluice.server_life', to: 'create table sluice.server_life' },
    ],
    caughtBy: {
      file: 'test/faults/server-crash.test.ts',
      test: 'the crash of one session begins another life, though the server goes on',
    },
  },
]
