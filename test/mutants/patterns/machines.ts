import type { Mutant } from '../mutant.ts'

const transitions = 'test/machines/transitions.test.ts'
const election = 'test/reconcilers/election.test.ts'
const store = 'src/store/reconcilers.ts'

/** Guards of machines and of reconcilers. */
export const machines: readonly Mutant[] = [
  {
    name: 'machine-moved-blindly',
    breaks: 'a transition is compare-and-set: a row is moved whatever state it is in',
    edits: [
      {
        file: 'src/targets/state.ts',
        from: 'where ${raw(quote(place.key))} = ${key} and ${state} = ${from}`',
        to: "where ${raw(quote(place.key))} = ${key} and ${from} <> ''`",
      },
    ],
    caughtBy: {
      file: transitions,
      test: 'a row that another transaction moves at the same moment stays where that one put it',
    },
  },
  {
    name: 'machine-next-step-apart',
    breaks: 'a row is never moved without what comes next: the next job is enqueued in a transaction of its own',
    edits: [
      {
        file: 'src/jobs/context.ts',
        from: 'return this.#tools.enqueue(this.tx)',
        to: 'return this.#tools.enqueue(undefined)',
      },
    ],
    caughtBy: {
      file: transitions,
      test: 'a step that works outside of the transaction moves its row, ends, and enqueues the next step in one',
    },
  },
  {
    name: 'machine-started-apart',
    breaks: 'a row and its job are there together: the job stays when the transaction of the caller is rolled back',
    edits: [
      {
        file: 'src/machines/machines.ts',
        from: '{ tx, ...delayOf(machine, state) }',
        to: '{ ...delayOf(machine, state) }',
      },
    ],
    caughtBy: {
      file: 'test/machines/machines.test.ts',
      test: 'a row and its job are there together or not at all',
    },
  },
  {
    name: 'machine-moved-without-claim',
    breaks: 'a stale worker commits nothing: a step moves its row though its job has been taken away',
    edits: [
      { file: 'src/jobs/transactional.ts', from: 'if (mine.length === 0) throw new JobLost()', to: 'void mine' },
      { file: 'src/jobs/transactional.ts', from: 'if (ids.length === 0) throw new JobLost()', to: 'void ids' },
    ],
    caughtBy: { file: transitions, test: 'a step that has lost its job while it worked does not move the row' },
  },
  {
    name: 'reconciler-runs-before-due',
    breaks: 'one worker runs an interval: another takes the reconciler before it is due again',
    edits: [
      { file: store, from: '     where r.next_at <= clock_timestamp()\n     order by', to: '     order by' },
      {
        file: store,
        from: 'where r.name = due.name and r.next_at <= clock_timestamp()',
        to: 'where r.name = due.name',
      },
    ],
    caughtBy: { file: election, test: 'an interval of a reconciler is given to one worker' },
  },
  {
    name: 'reconciler-elects-two',
    breaks: 'one worker runs an interval: two that ask at the same moment both get it',
    edits: [
      { file: store, from: '     limit 1\n     for update of r skip locked\n', to: '     limit 1\n' },
      {
        file: store,
        from: 'where r.name = due.name and r.next_at <= clock_timestamp()',
        to: 'where r.name = due.name',
      },
    ],
    caughtBy: {
      file: election,
      test: 'of two workers that ask for an interval at the same moment one gets it',
    },
  },
  {
    name: 'reconciler-goes-on-without-nonce',
    breaks: 'a run that has lost its interval stops: it goes on beside the run of another',
    edits: [
      {
        file: store,
        from: 'found = $4, enqueued = $5\n   where name = $1 and nonce = $2',
        to: 'found = $4, enqueued = $5\n   where name = $1 and $2::uuid is not null',
      },
    ],
    caughtBy: { file: election, test: 'a run whose interval has gone to another cannot go on' },
  },
  {
    name: 'reconciler-ends-without-nonce',
    breaks: 'every transition compares the nonce: a stale run ends the run of another',
    edits: [
      {
        file: store,
        from: 'error = $5\n   where name = $1 and nonce = $2',
        to: 'error = $5\n   where name = $1 and $2::uuid is not null',
      },
    ],
    caughtBy: { file: election, test: 'a run whose interval has gone to another cannot end the run of the other' },
  },
]
