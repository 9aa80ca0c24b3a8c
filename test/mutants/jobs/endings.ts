import type { Mutant } from '../mutant.ts'

const settle = 'src/store/jobs/settle.ts'
const rescue = 'src/store/jobs/rescue.ts'
const endJobs = 'src/store/schema/functions/end_jobs.sql'
const stale = 'test/jobs/stale-claims.test.ts'

const contract = 'test/contracts/queue-postgres.test.ts'
const cannot = (verb: string): string => `a stale worker cannot ${verb} a job that another worker has claimed since`
/** Which test notices a holder that touches a job without its nonce, by what the holder does. */
const staleTests: Readonly<Record<string, string>> = {
  complete: cannot('complete'),
  postpone: cannot('postpone'),
  bury: cannot('bury'),
  lock: 'work under a stale claim does not begin',
  watch: 'a worker sees which of its claims are held, are to end, and are lost',
}

/** The condition under which each statement of a claim's holder touches a job, with what stands around it. */
const fences = [
  {
    verb: 'complete',
    file: endJobs,
    start: 'where j.id = d.id',
    mark: 'j.claim_id = d.claim_id',
    listed: ' or (j.state = 0 and d.claim_id = any(live))',
    end: '',
  },
  {
    verb: 'postpone',
    file: settle,
    start: 'where j.id = g.id',
    mark: 'j.claim_id = g."claimId"',
    listed: `
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g."claimId"))`,
    end: '\n     returning j.id, j.run_at',
  },
  {
    verb: 'bury',
    file: settle,
    start: 'where j.id = g.id',
    mark: 'j.claim_id = g."claimId"',
    listed: `
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g."claimId"))`,
    end: '\n     returning j.*',
  },
  {
    verb: 'lock',
    file: settle,
    start: 'on g.id = j.id',
    mark: 'j.claim_id = g.claim_id',
    listed: `
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g.claim_id))`,
    end: '\n   for update of j',
  },
  {
    verb: 'watch',
    file: rescue,
    start: 'on g.id = j.id',
    mark: 'j.claim_id = g.claim_id',
    listed: `
       or (j.state = 0 and exists (select from sluice.job_claim c where c.id = g.claim_id))`,
    end: '',
  },
]

/** Guards of what the holder of a claim does to its jobs. */
export const jobEndings: readonly Mutant[] = [
  ...fences.flatMap(({ verb, file, start, mark, listed, end }): Mutant[] => {
    const from = `${start} and (${mark}${listed})${end}`
    return [
      {
        name: verb === 'complete' ? 'job-completed-without-nonce' : `job-${verb}-without-nonce`,
        breaks: `a stale worker commits nothing: the statement "${verb}" finds a job by its id alone`,
        edits: [{ file, from, to: `${start}${end}` }],
        caughtBy: { file: contract, test: staleTests[verb] ?? '' },
      },
      {
        name: `new-job-${verb}-without-claim`,
        breaks: `a stale worker commits nothing: the statement "${verb}" takes a new job whose claim is gone`,
        edits: [{ file, from, to: `${start} and (${mark} or j.state = 0)${end}` }],
        caughtBy: { file: stale, test: `a worker whose claim is gone cannot ${verb} a new job on the list of another` },
      },
    ]
  }),
  {
    name: 'job-recalled-without-nonce',
    breaks: 'a stale worker reports nothing as its own: what another worker completed counts as its completion',
    edits: [
      {
        file: settle,
        from: 'claims.filter(({ id, claimId }) => found.has(`${id} ${claimId}`))',
        to: 'claims.filter(({ id }) => rows.some((row) => Number(row.id) === id))',
      },
      { file: endJobs, from: 'h.id = any(p_ids) and h.claim_id = any(p_claim_ids)', to: 'h.id = any(p_ids)' },
    ],
    caughtBy: { file: stale, test: 'a stale worker is not told that it completed what another worker completed' },
  },
  {
    name: 'completion-not-recalled',
    breaks: 'a job that ended is not taken for lost: after a lost answer nobody looks into history',
    edits: [
      {
        file: 'src/jobs/completer.ts',
        from: 'if (doubtful.length > 0) this.#recallLater(doubtful)',
        to: 'for (const due of doubtful) this.#report(due.attempt, undefined)',
      },
    ],
    caughtBy: {
      file: 'test/jobs/lost-answers.test.ts',
      test: 'a worker that loses the answer to an ending finds it in history, and has lost nothing',
    },
  },
  {
    name: 'claim-left-by-two-statements',
    breaks: 'no claim is left behind: that of two jobs which end in two statements at the same moment stays',
    edits: [
      {
        file: 'src/jobs/held-claims.ts',
        from: 'else if (this.#jobs.delete(claimId)) this.#empty.push(claimId)',
        to: 'else this.#jobs.delete(claimId)',
      },
    ],
    caughtBy: {
      file: 'test/jobs/held-claims.test.ts',
      test: 'a claim whose last jobs end in two statements at the same moment goes with the next one',
    },
  },
  {
    name: 'claim-left-by-a-statement-that-failed',
    breaks: 'no claim is left behind: one that was to go with a statement which did nothing stays',
    edits: [
      {
        file: 'src/jobs/held-claims.ts',
        from: '    this.#empty.push(...claimIds.filter((claimId) => !this.#jobs.has(claimId)))\n',
        to: '',
      },
    ],
    caughtBy: {
      file: 'test/jobs/held-claims.test.ts',
      test: 'a claim that was to go with a statement which did nothing goes with the next one',
    },
  },
  {
    name: 'claim-dropped-before-its-last-job',
    breaks: 'a claimed job is claimed by nobody else: a claim goes when the first of its jobs has ended',
    edits: [
      {
        file: 'src/jobs/held-claims.ts',
        from: '(this.#jobs.get(claimId) ?? jobs) === jobs)',
        to: '(this.#jobs.get(claimId) ?? jobs) >= jobs)',
      },
    ],
    caughtBy: { file: 'test/jobs/claim-lifetime.test.ts', test: 'a claim outlives each of its jobs but the last' },
  },
  {
    name: 'lost-handler-not-told',
    breaks: 'a handler that has lost its job is told to stop: it is only told when a person cancels the job',
    edits: [
      {
        file: 'src/jobs/watch.ts',
        from: "else if (fate === undefined) stop.stop(new JobLost('the job belongs to another worker now'))",
        to: '',
      },
    ],
    caughtBy: { file: 'test/jobs/claim-lifetime.test.ts', test: 'a handler whose job was taken over is told to stop' },
  },
  {
    name: 'job-claim-not-locked',
    breaks:
      'a stale worker commits nothing: a transactional job looks at its claim once, and neither locks nor asks again',
    edits: [
      { file: settle, from: '\n   for update of j`', to: '`' },
      { file: 'src/store/jobs/transaction.ts', from: 'if (ids.length === 0) throw new JobLost()', to: '' },
    ],
    caughtBy: {
      file: 'test/jobs/claim-lifetime.test.ts',
      test: 'nobody takes over a transactional job while its transaction is open',
    },
  },
  {
    name: 'transactional-job-begun-unheld',
    breaks: 'a handler begins only under its claim: a transactional job begins though another worker has it',
    edits: [{ file: 'src/store/jobs/transaction.ts', from: 'if (mine.length === 0) throw new JobLost()', to: '' }],
    caughtBy: {
      file: 'test/jobs/claim-lifetime.test.ts',
      test: 'a transactional job that was taken over before its turn does not begin',
    },
  },
  {
    name: 'commit-not-waited-for',
    breaks: 'after a lost COMMIT the row of the job decides: it is read while the server is still at that COMMIT',
    edits: [{ file: settle, from: '\n   for update of j`', to: '`' }],
    caughtBy: {
      file: 'test/jobs/lost-answers.test.ts',
      test: 'a worker waits for the end of a COMMIT that the server is still at',
    },
  },
  {
    name: 'lost-commit-taken-for-lost-job',
    breaks: 'after a lost COMMIT the row of the job decides: a job that its COMMIT has ended counts as taken over',
    edits: [
      {
        file: 'src/store/jobs/transaction.ts',
        from: "if ((await settle.completedBy(database.control, { claims: [claim], fromMs })).length === 1) return 'committed'",
        to: '',
      },
    ],
    caughtBy: {
      file: 'test/jobs/lost-answers.test.ts',
      test: 'a transactional job whose COMMIT took effect unheard has succeeded',
    },
  },
  {
    name: 'broken-commit-taken-for-success',
    breaks: 'after a lost COMMIT the row of the job decides: a job whose COMMIT failed counts as succeeded',
    edits: [
      {
        file: 'src/store/jobs/transaction.ts',
        from: ".length === 1) return 'rolled back'",
        to: ".length === 1) return 'committed'",
      },
    ],
    caughtBy: {
      file: 'test/jobs/lost-answers.test.ts',
      test: 'a transactional job whose COMMIT took no effect runs again',
    },
  },
]
