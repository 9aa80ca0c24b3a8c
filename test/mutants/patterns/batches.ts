import type { Mutant } from '../mutant.ts'

const jobBatches = 'src/store/schema/functions/job_batches.sql'
const jobTables = 'src/store/schema/tables/0004_jobs.sql'
const counting = 'test/patterns/batches/counting.test.ts'
const retriedOnce = {
  file: 'test/patterns/batches/batches.test.ts',
  test: 'when all dead members have been retried, success is called once and complete not again',
}

const mendedBySpans = {
  file: 'test/patterns/batches/mending.test.ts',
  test: 'counters that do not fit the members are mended by history read in small spans, none of them under a lock',
}

/** Guards of batches of jobs. */
export const batches: readonly Mutant[] = [
  {
    name: 'batch-mended-by-all-history',
    breaks: 'nobody waits for millions of rows: members are looked for in all of history at once',
    edits: [{ file: jobBatches, from: 'h.finished_at >= p_from and h.finished_at < p_to and', to: '' }],
    caughtBy: mendedBySpans,
  },
  {
    name: 'batch-recounted-in-one-span',
    breaks: 'nobody waits for millions of rows: history is read in one span since the batch of jobs was opened',
    edits: [{ file: 'src/store/jobs/recount.ts', from: 'const spanMs = 300_000', to: 'const spanMs = 30_000_000' }],
    caughtBy: mendedBySpans,
  },
  {
    name: 'batch-mended-under-its-lock',
    breaks: 'endings do not wait for history: it is read while the batch of jobs is locked',
    edits: [
      {
        file: jobBatches,
        from: '    if p_completed is null or',
        to: `    p_completed := coalesce(p_completed, sluice.count_completed_members(p_id, b.opened_at, 'infinity'));
    p_seen := coalesce(p_seen, b.touched_at);
    if p_completed is null or`,
      },
    ],
    caughtBy: mendedBySpans,
  },
  {
    name: 'batch-mended-by-old-count',
    breaks: 'counters fit the members: a batch of jobs is mended by a count from before a member ended',
    edits: [{ file: jobBatches, from: ' or p_seen is distinct from b.touched_at', to: '' }],
    caughtBy: mendedBySpans,
  },
  {
    name: 'locked-batch-holds-up-members',
    breaks: 'members do not wait for a batch of jobs that is not theirs: those of a locked one keep their place',
    edits: [
      {
        file: 'src/store/jobs/postgres-queue.ts',
        from: "      if (lockMs !== undefined && sqlstate(error) === '55P03') return 'busy'\n",
        to: '',
      },
    ],
    caughtBy: {
      file: 'test/patterns/batches/locked-batch.test.ts',
      test: 'a batch that an open transaction has sealed holds up its own members, and no other jobs',
    },
  },
  {
    name: 'locked-batch-unsaid',
    breaks: 'what stands still says why: nobody is told that members wait for an open transaction',
    edits: [
      {
        file: 'src/jobs/completer.ts',
        from: 'if (lane.locked === 1) this.#warn',
        to: 'if (lane.locked < 1) this.#warn',
      },
    ],
    caughtBy: {
      file: 'test/patterns/batches/locked-batch.test.ts',
      test: 'a batch that an open transaction has cancelled holds up its own members, and no other jobs',
    },
  },
  {
    name: 'locked-batch-holds-up-all-jobs',
    breaks: 'jobs do not wait for a batch of jobs: all that end go one after the other, and wait for its lock',
    edits: [
      {
        file: 'src/jobs/completer.ts',
        from: 'return batchId === null ? this.#plain : (this.#apart.get(batchId) ?? this.#members)',
        to: 'return batchId === 0 ? this.#members : this.#plain',
      },
    ],
    caughtBy: {
      file: 'test/patterns/batches/locked-batch.test.ts',
      test: 'a batch that an open transaction has sealed holds up its own members, and no other jobs',
    },
  },
  {
    name: 'batch-counted-in-old-snapshot',
    breaks: 'a batch of jobs ends after its last member: who counts does not see members that others have added',
    edits: [
      {
        file: jobBatches,
        from: "  -- An older snapshot does not see all members.\n  perform sluice.require_read_committed('a batch of jobs');\n",
        to: '',
      },
    ],
    caughtBy: {
      file: 'test/patterns/batches/transactions.test.ts',
      test: 'an old snapshot does not count in a batch that others have opened',
    },
  },
  {
    name: 'batch-callback-without-unique-row',
    breaks: 'a batch of jobs has one callback of each kind: no key keeps a second callback row of a kind out',
    edits: [
      {
        file: jobTables,
        from: 'at       timestamptz not null default clock_timestamp(),\n  primary key (batch_id, kind)',
        to: 'at       timestamptz not null default clock_timestamp()',
      },
    ],
    caughtBy: retriedOnce,
  },
  {
    name: 'batch-callback-enqueued-anyway',
    breaks: 'a batch of jobs has one callback of each kind: one is enqueued although its callback row was there',
    edits: [
      {
        file: jobBatches,
        from: `on conflict do nothing;
  if not found then
    return '[]';
  end if;
  spec :=`,
        to: 'on conflict do nothing;\n  spec :=',
      },
    ],
    caughtBy: retriedOnce,
  },
  {
    name: 'batch-reopened-without-callbacks',
    breaks: 'a batch of jobs has one callback of each kind: one that is opened again forgets what it has called',
    edits: [
      {
        file: jobBatches,
        from: 'jsonb_to_recordset(o.callbacks) c(kind text, job_id bigint, at timestamptz)',
        to: 'jsonb_to_recordset(o.callbacks) c(kind text, job_id bigint, at timestamptz) where false',
      },
    ],
    caughtBy: retriedOnce,
  },
  {
    name: 'batch-counted-later',
    breaks: 'members are counted in the transaction that ends them: those that succeed are counted in the next one',
    edits: [
      {
        file: 'src/store/jobs/endings.ts',
        from: 'const membersAlone = others.length === 0 && done.some(({ member }) => member)',
        to: 'const membersAlone = false',
      },
    ],
    caughtBy: { file: counting, test: 'a member that succeeds is counted in the transaction that ends it' },
  },
  {
    name: 'batch-death-counted-later',
    breaks: 'members are counted in the transaction that ends them: those that die are counted in the next one',
    edits: [
      {
        file: 'src/store/jobs/postgres-queue.ts',
        from: ': await control.transaction((transaction) => writeEndings(transaction, order), limits)',
        to: ': await writeEndings(control, order)',
      },
    ],
    caughtBy: { file: counting, test: 'a member that dies is counted in the transaction that ends it' },
  },
  {
    name: 'batch-retry-counted-later',
    breaks: 'the counters say what has committed: a retried member is taken off the count in a transaction of its own',
    edits: [
      {
        file: 'src/store/jobs/endings.ts',
        from: 'await membersBack(transaction, { tallies })',
        to: 'await membersBack(database.control, { tallies })',
      },
    ],
    caughtBy: { file: counting, test: 'a member that is retried is taken off the count in the same transaction' },
  },
  {
    name: 'batch-over-before-sealed',
    breaks: 'a batch of jobs that is not sealed is not over: it ends as soon as all members so far have ended',
    edits: [
      {
        file: jobBatches,
        from: 'if b.sealed_at is null or b.succeeded + b.failed < b.total then',
        to: 'if b.succeeded + b.failed < b.total then',
      },
    ],
    caughtBy: { file: counting, test: 'an open batch is not over when all of its members have ended' },
  },
  {
    name: 'batch-sealed-takes-strangers',
    breaks: 'a sealed batch of jobs takes members from inside alone: anybody can add to it',
    edits: [
      { file: jobBatches, from: 'and (p_member is null or not exists', to: 'and (p_member is not null and not exists' },
    ],
    caughtBy: { file: 'test/patterns/batches/batches.test.ts', test: 'a sealed batch takes members from inside alone' },
  },
  {
    name: 'batch-cancelled-takes-members',
    breaks: 'a cancelled batch of jobs takes no members: one of its members can still add to it',
    edits: [
      {
        file: jobBatches,
        from: `if b.cancelled_at is not null then
    raise exception`,
        to: `if false then
    raise exception`,
      },
    ],
    caughtBy: { file: counting, test: 'a member of a cancelled batch cannot add to it' },
  },
  {
    name: 'batch-cancelled-succeeds',
    breaks: 'a cancelled batch of jobs never calls success: an empty one that is cancelled counts as succeeded',
    edits: [{ file: jobBatches, from: "case when b.cancelled_at is not null then 'cancelled' when", to: 'case when' }],
    caughtBy: {
      file: 'test/patterns/batches/cancel.test.ts',
      test: 'an empty batch that is cancelled is over at once',
    },
  },
  {
    name: 'batch-seal-ends-nothing',
    breaks: 'a batch of jobs has its callback even when it is empty: sealing does not look whether it is over',
    edits: [
      {
        file: jobBatches,
        from: `'total', (select total from sluice.job_batch where id = p_id)))
    || sluice.settle_job_batch_and_above(p_id);`,
        to: `'total', (select total from sluice.job_batch where id = p_id)));`,
      },
    ],
    caughtBy: {
      file: 'test/patterns/batches/batches.test.ts',
      test: 'an open batch is not over before it is sealed; an empty one is over then',
    },
  },
  {
    name: 'batch-over-while-adding',
    breaks: 'nothing is over too early: the last member to end does not wait for an open transaction that adds one',
    edits: [{ file: jobBatches, from: '  perform from sluice.job_batch where id = p_id for update;\n', to: '' }],
    caughtBy: { file: counting, test: 'the last member to end waits for an open transaction that adds another' },
  },
  {
    name: 'batch-counted-without-lock',
    breaks: 'locks are taken in one order: whoever counts changes additions before it has locked the batch of jobs',
    edits: [
      {
        file: jobBatches,
        from: '        and (j.parent_id is not null) = nested\n      order by j.id\n      for no key update\n',
        to: '        and (j.parent_id is not null) = nested\n      order by j.id\n',
      },
    ],
    caughtBy: {
      file: counting,
      test: 'whoever counts a member locks the batch before its additions, as whoever seals does',
    },
  },
  {
    name: 'batch-recounted-without-lock',
    breaks: 'a recount sees what has committed: it overwrites the count of a transaction that is still open',
    edits: [
      {
        file: jobBatches,
        from: 'where id = p_id and sealed_at is not null for no key update skip locked;',
        to: 'where id = p_id and sealed_at is not null;',
      },
    ],
    caughtBy: { file: counting, test: 'a batch is not recounted while another transaction counts one of its members' },
  },
  {
    name: 'batch-ended-by-counters',
    breaks: 'a batch of jobs is over when no member is left: wrong counters end it while there are some',
    edits: [
      {
        file: jobBatches,
        from: `
     or exists (select from sluice.job where batch_id = p_id)
     or exists (select from sluice.job_batch where parent_id = p_id) then`,
        to: ' then',
      },
    ],
    caughtBy: {
      file: counting,
      test: 'counters that run ahead do not end a batch that has members left, and a recount corrects them',
    },
  },
  {
    name: 'batch-recount-ends-nothing',
    breaks: 'a batch of jobs has its callback even when a member is lost: the recount does not look whether it is over',
    edits: [
      { file: jobBatches, from: '  return news || sluice.settle_job_batch_and_above(p_id);', to: '  return news;' },
    ],
    caughtBy: { file: counting, test: 'a recount ends a batch whose last member left no trace' },
  },
]
