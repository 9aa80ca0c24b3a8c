import type { Mutant } from '../mutant.ts'

const transitions = 'test/patterns/machines/transitions.test.ts'
const election = 'test/patterns/reconcilers/election.test.ts'
const store = 'src/store/reconcilers.ts'
const healing = 'test/patterns/machines/healing.test.ts'
const bounded = 'test/patterns/machines/bounded-effects.test.ts'
const borders = 'test/patterns/reconcilers/page-borders.test.ts'

/** Guards of machines and of reconcilers. */
export const machines: readonly Mutant[] = [
  {
    name: 'machine-moved-blindly',
    breaks: 'a transition is compare-and-set: a row is moved whatever state it is in',
    edits: [
      {
        file: 'src/targets/postgres/state.ts',
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
        file: 'src/patterns/machines/machines.ts',
        from: '{ tx, ...delayOf(machine, state) }',
        to: '{ ...delayOf(machine, state) }',
      },
    ],
    caughtBy: {
      file: 'test/patterns/machines/machines.test.ts',
      test: 'a row and its job are there together or not at all',
    },
  },
  {
    name: 'machine-moved-without-claim',
    breaks: 'a stale worker commits nothing: a step moves its row though its job has been taken away',
    edits: [
      { file: 'src/store/jobs/transaction.ts', from: 'if (mine.length === 0) throw new JobLost()', to: 'void mine' },
      { file: 'src/store/jobs/transaction.ts', from: 'if (ids.length === 0) throw new JobLost()', to: 'void ids' },
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
  {
    name: 'machine-without-moment-not-stuck',
    breaks: 'a row whose job is lost is found: one of which nobody knows since when it waits never is',
    edits: [{ file: 'src/targets/postgres/stuck.ts', from: 'is null))`', to: 'is null and false))`' }],
    caughtBy: {
      file: healing,
      test: 'a row of which nobody knows since when it is in its state is found by the reconciler',
    },
  },
  {
    name: 'machine-cancelled-taken-for-moved',
    breaks: 'a transition is made or fails: one that a trigger cancels passes for done, and its work is repeated',
    edits: [
      {
        file: 'src/targets/postgres/state.ts',
        from: '.rows.length > 0) return',
        to: '.rows.length > 1) return',
      },
    ],
    caughtBy: {
      file: healing,
      test: 'a transition that a trigger cancels after an effect fails with the reason, and does not pass for done',
    },
  },
  {
    name: 'machine-key-as-read-by-driver',
    breaks: 'a row whose job is lost is found: the key of a date is passed on in a form that leads to no row',
    edits: [{ file: 'src/patterns/machines/stuck.ts', from: "String(row['text'])", to: "String(row['key'])" }],
    caughtBy: { file: healing, test: 'a row whose key is a date is found by the reconciler, and by its job' },
  },
  {
    name: 'machine-moved-by-count',
    breaks: 'a transition is made or fails: the count of the update is believed where a trigger keeps the old state',
    edits: [
      {
        file: 'src/targets/postgres/state.ts',
        from: '.rows.length > 0) return',
        to: '.rows.length > 0 && rowCount === 0) return',
      },
    ],
    caughtBy: {
      file: bounded,
      test: 'a trigger that keeps the old state lets a step have its effect once, until a person retries it',
    },
  },
  {
    name: 'machine-unmoved-started-again',
    breaks: 'effects are bounded: the reconciler starts the step of a row again and again that cannot be moved',
    edits: [
      {
        file: 'src/patterns/reconcilers/run.ts',
        from: 'return all.filter((_, at) => !unmoved.has(at))',
        to: 'return all.filter((_, at) => at >= 0 || !unmoved.has(at))',
      },
    ],
    caughtBy: {
      file: bounded,
      test: 'a trigger that cancels the update lets a step have its effect once, until a person retries it',
    },
  },
  {
    name: 'machine-unmoved-for-ever',
    breaks: 'a row whose job is lost is found: one that could not be moved once never is, though it left and came back',
    edits: [
      {
        file: 'src/store/jobs/failures.ts',
        from: "and d.finished_at >= coalesce(s.since, '-infinity')",
        to: "and d.finished_at >= least(s.since, '-infinity')",
      },
    ],
    caughtBy: {
      file: bounded,
      test: 'a row that could not be moved is found again once it has left its state and come back',
    },
  },
  {
    name: 'machine-key-tried-in-transaction',
    breaks: "the caller's transaction stays alive: a key that cannot be one is tried in it",
    edits: [
      {
        file: 'src/patterns/machines/machines.ts',
        from: 'if (!(await canBeKey(',
        to: 'if (tx === null && !(await canBeKey(',
      },
    ],
    caughtBy: { file: healing, test: "a key that cannot be one leaves the caller's transaction alive" },
  },
  {
    name: 'machine-moved-outside-transaction',
    breaks: 'what is given as a transaction is one: a row is moved on a pool, and stays so when its job is refused',
    edits: [
      {
        file: 'src/patterns/machines/machines.ts',
        from: 'onTransaction(tx, pool.schema)',
        to: '{ query: (text: string, values: unknown[]) => tx.query(text, values) }',
      },
      {
        file: 'src/patterns/machines/machines.ts',
        from: 'import { onTransaction, type Connection }',
        to: 'import type { Connection }',
      },
    ],
    caughtBy: {
      file: 'test/jobs/outside-transactions.test.ts',
      test: 'machines.advance refuses a pool, and records nothing',
    },
  },
  {
    name: 'reconciler-ties-cut',
    breaks: 'every record is found: those that share the last key of a page are left out',
    edits: [{ file: 'src/targets/postgres/find.ts', from: 'rows with ties`', to: 'rows only`' }],
    caughtBy: { file: borders, test: 'records that share a key are all found, also where a page ends' },
  },
  {
    name: 'reconciler-keyless-left-out',
    breaks: 'every record is found: those without a key come after a page that is not the first, and are left out',
    edits: [
      {
        file: 'src/patterns/reconcilers/run.ts',
        from: "if (page.length < pageSize && which === 'first') return",
        to: "if (page.length < pageSize && which !== 'keyless') return",
      },
    ],
    caughtBy: { file: borders, test: 'records that share a key or have none are all found, also where a page ends' },
  },
]
