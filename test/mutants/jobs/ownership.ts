import type { Mutant } from '../mutant.ts'

const claims = 'src/store/jobs/claimer.ts'
const claimJobs = 'src/store/schema/functions/claim_jobs.sql'
const endJobs = 'src/store/schema/functions/end_jobs.sql'
const recall = 'test/jobs/recall.test.ts'
const restored = 'test/jobs/restored-ids.test.ts'
const slots = 'test/jobs/transactional-slots.test.ts'
const turn = 'test/jobs/claim-turn.test.ts'
const strays = 'test/jobs/stray-claims.test.ts'

/** Guards of what a worker believes to be its own: claims that it never heard of, and ids from before a restore. */
export const jobOwnership: readonly Mutant[] = [
  {
    name: 'claims-handed-over-late',
    breaks: 'what was claimed is run: claims are handed over when the whole round is over, and lost when it fails',
    edits: [
      {
        file: 'src/jobs/worker.ts',
        from: '      this.#receive(claimed, { runner, completer })\n    }',
        to: '      late.push(claimed)\n    }\n    for (const claimed of late) this.#receive(claimed, { runner, completer })',
      },
      {
        file: 'src/jobs/worker.ts',
        from: '    let count = 0\n',
        to: '    let count = 0\n    const late: Claimed[] = []\n',
      },
    ],
    caughtBy: { file: strays, test: 'jobs that were claimed run, although a later claim of the same round fails' },
  },
  {
    name: 'strays-kept',
    breaks: 'nothing stays claimed unheard: a worker does not look for claims in its name that it does not know',
    edits: [{ file: 'src/jobs/worker.ts', from: '      this.#returnStrays(parts),\n', to: '' }],
    caughtBy: { file: strays, test: 'a worker gives back what is claimed in its name and unknown to it' },
  },
  {
    name: 'strays-of-others-freed',
    breaks: 'a claim is ended by its holder: a worker gives back what is claimed in the name of others',
    edits: [
      {
        file: 'src/store/jobs/claim.ts',
        from: 'from sluice.job_claim where worker_id = $1',
        to: 'from sluice.job_claim where $1::uuid is not null',
      },
    ],
    caughtBy: {
      file: 'test/contracts/queue-postgres.test.ts',
      test: 'a worker gives back what is claimed in its name and unknown to it, and nothing else',
    },
  },
  {
    name: 'claim-on-its-way-freed',
    breaks: 'a claimed job has one holder: a claim whose answer is on its way is taken for a stray and given back',
    edits: [{ file: claims, from: '!this.#asked.has(id) && ', to: '' }],
    caughtBy: { file: strays, test: 'a claim whose answer is on its way is no stray' },
  },
  {
    name: 'claim-freed-before-its-ending',
    breaks: 'a job that has ended is not run again: its claim is given back while its ending is on its way',
    edits: [
      {
        file: 'src/jobs/completer.ts',
        from: '      const kept = await this.#persist(lane, batch, emptyClaims)\n',
        to: '      this.#claims.gone(emptyClaims)\n      const kept = await this.#persist(lane, batch, emptyClaims)\n',
      },
    ],
    caughtBy: { file: strays, test: 'a claim is no stray until the ending of its last job is written' },
  },
  {
    name: 'tokens-taken-by-the-clock',
    breaks: 'a queue with a rate goes on after a failover: a clock that is behind makes the tokens negative',
    edits: [
      {
        file: 'src/store/jobs/claim.ts',
        from: 'greatest(0, extract(epoch from clock_timestamp() - tokens_at))',
        to: 'extract(epoch from clock_timestamp() - tokens_at)',
      },
    ],
    caughtBy: {
      file: strays,
      test: 'a queue whose tokens were counted by a clock ahead of ours grants none, and no less',
    },
  },
  {
    name: 'claims-floor-outlives-restore',
    breaks: 'a new job has one holder: after a restore, claims below a floor of the old tables are not seen',
    edits: [
      {
        file: claimJobs,
        from: "era text := ' ' || extract(epoch from pg_postmaster_start_time()) || ' ' || pg_relation_filenode('sluice.job_claim');",
        to: "era text := '';",
      },
    ],
    caughtBy: {
      file: restored,
      test: 'what a worker remembers of claims counts for nothing when the table of claims was made anew',
    },
  },
  {
    name: 'claims-floor-above-numbers',
    breaks: 'a new job has one holder: a floor is believed that is above all numbers of claims that were given out',
    edits: [{ file: claimJobs, from: ' and p_claims_floor <= s.last_value + s.is_called::integer', to: '' }],
    caughtBy: {
      file: restored,
      test: 'what a worker remembers of claims counts for nothing when numbers of claims are given out again',
    },
  },
  {
    name: 'misplaced-job-run',
    breaks: 'a worker runs jobs of its own queues alone: after a restore it runs what has the old id of its queue',
    edits: [{ file: 'src/jobs/worker.ts', from: 'if (misplaced.has(job)) {', to: 'if (misplaced.size < 0) {' }],
    caughtBy: {
      file: restored,
      test: 'after the ids of two queues have changed places, a worker runs nothing of the queue that is not its own',
    },
  },
  {
    name: 'definitions-told-once',
    breaks: 'SQL callers get the defaults of definitions: a worker does not tell them to a schema that was made anew',
    edits: [{ file: claims, from: 'if (missing) this.#opened = false', to: '' }],
    caughtBy: {
      file: restored,
      test: 'jobs go on after the schema was dropped and made anew under a worker',
    },
  },
  {
    name: 'recall-reads-all-history',
    breaks: 'endings are written however large history is: whoever looks for one reads all of it',
    edits: [{ file: endJobs, from: 'h.finished_at >= p_from and h.finished_at < p_to and h.id', to: 'h.id' }],
    caughtBy: {
      file: recall,
      test: 'whoever asks what became of an ending reads the minutes since it was first written, not all of history',
    },
  },
  {
    name: 'recall-holds-up-endings',
    breaks: 'endings are written however slow history is: they wait until it has said what became of others',
    edits: [
      {
        file: 'src/jobs/completer.ts',
        from: '      else this.#written(batch, emptyClaims, kept)',
        to: '      else {\n        this.#written(batch, emptyClaims, kept)\n        await Promise.all(this.#recalls)\n      }',
      },
    ],
    caughtBy: { file: recall, test: 'endings are written while history does not say what became of others' },
  },
  {
    name: 'mending-reads-history',
    breaks: 'mending costs little however large history is: it is read for each batch, also where counters agree',
    edits: [
      {
        file: 'src/store/schema/functions/job_batches.sql',
        from: 'if done > 0 and done + n.closed - n.bad <> b.succeeded then',
        to: 'if b.id = p_id then',
      },
    ],
    caughtBy: {
      file: 'test/patterns/batches/mending.test.ts',
      test: 'a batch whose counters agree with its members is mended without a look at history',
    },
  },
  {
    name: 'turn-not-made-again',
    breaks: 'a new job has one holder: claims do not wait for each other where a restore has left out their row',
    edits: [{ file: claimJobs, from: 'insert into sluice.claim_turn default values on conflict do nothing;', to: '' }],
    caughtBy: {
      file: turn,
      test: 'claims wait for each other also after a restore that has left out the row that they lock',
    },
  },
  {
    name: 'turn-taken-by-anybody',
    breaks: 'only workers can keep workers from claiming: any login can take the lock',
    edits: [
      {
        file: claimJobs,
        from: 'begin\n  perform from sluice.claim_turn where id for update;',
        to: "begin\n  perform pg_advisory_xact_lock(hashtextextended('sluice.claim_jobs', 0));\n  perform from sluice.claim_turn where id for update;",
      },
    ],
    caughtBy: { file: turn, test: 'a login that holds an advisory lock keeps nobody from claiming' },
  },
  {
    name: 'keys-let-in-at-once',
    breaks: 'jobs with keys are let in however many keys there are: one statement holds the locks of all',
    edits: [{ file: 'src/store/jobs/enqueue.ts', from: 'const keysAtOnce = 500', to: 'const keysAtOnce = 1e6' }],
    caughtBy: {
      file: turn,
      test: 'many keys are let in a few at a time, so that others wait for few of them',
    },
  },
  {
    name: 'keys-not-let-in-unheard',
    breaks: 'an error is told: that jobs with keys could not be let in is not',
    edits: [
      {
        file: 'src/store/jobs/enqueuer.ts',
        from: "this.#deps.telemetry.emit('warning', { message })",
        to: 'void message',
      },
    ],
    caughtBy: {
      file: turn,
      test: 'whoever enqueues is told when jobs with keys could not be let in, and a sweep lets them in',
    },
  },
  {
    name: 'transactional-jobs-beyond-connections',
    breaks: 'a transactional job waits for a connection: it asks the pool, which gives up after ten seconds',
    edits: [{ file: 'src/jobs/runner.ts', from: 'await this.#transactions.take()', to: '' }],
    caughtBy: { file: slots, test: 'transactional jobs beyond the connections that there are for them wait for one' },
  },
  {
    name: 'wait-for-connection-times-out',
    breaks: 'the time of a job is the time of its handler: it runs while the job waits for a connection',
    edits: [{ file: 'src/jobs/watch.ts', from: 'if (!waiting && now - since', to: 'if (now - since' }],
    caughtBy: {
      file: slots,
      test: 'the time in which a job waits for a connection does not count against its timeout',
    },
  },
  {
    name: 'callbacks-unchecked',
    breaks:
      'what cannot be enqueued is refused before anything is written: callbacks of a batch are taken as they come',
    edits: [
      {
        file: 'src/store/schema/functions/job_batches.sql',
        from: "if problem is not null then\n    raise exception 'sluice.open_job_batch",
        to: "if problem = '' then\n    raise exception 'sluice.open_job_batch",
      },
    ],
    caughtBy: {
      file: 'test/patterns/batches/bad-input.test.ts',
      test: 'sluice.open_job_batch refuses {"onComplete": {"job": "a b"}}, and writes nothing',
    },
  },
  {
    name: 'worker-brought-back',
    breaks: 'a worker that has left is gone: its thread, which starts late, writes its row again',
    edits: [
      {
        file: 'src/runtime/renewer.ts',
        from: 'sent !== undefined; sent = receiveMessageOnPort(port)',
        to: 'sent === null; sent = receiveMessageOnPort(port)',
      },
    ],
    caughtBy: {
      file: 'test/runtime/renewal-thread.test.ts',
      test: 'a worker that has left before its thread began is not brought back by it',
    },
  },
]
