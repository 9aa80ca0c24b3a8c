import type { Mutant } from '../mutant.ts'

const recover = 'src/operations/recover.ts'
const commit = 'src/targets/postgres/commit.ts'
const begin = 'src/operations/batch-begin.ts'
const leavesNone = 'leavesNone: verifies || (keeps && bound.change !== undefined)'

const begins = (test: string): Mutant['caughtBy'] => ({ file: 'test/operations/batch-begins.test.ts', test })

const lockedIn = (form: string): Mutant['caughtBy'] => ({
  file: 'test/operations/locked-row.test.ts',
  test: `a sub-batch ${form} gives its rows back when one is locked, until it waits for that row alone`,
})

const sized = (test: string): Mutant['caughtBy'] => ({
  file: 'test/operations/size.test.ts',
  test: `the size of a sub-batch ${test}`,
})

const silent = 'test/operations/silent-server.test.ts'
const unwatched =
  'operations run on a server that refuses to tell where its log is (55000), and say once what is not watched'

const kept = (test: string): Mutant['caughtBy'] => ({ file: 'test/operations/rows-kept.test.ts', test })

/** What an error, a row or a signal is taken for, and what comes of it. */
export const errors: readonly Mutant[] = [
  {
    name: 'batch-begins-classless',
    breaks: 'a lost connection fails no operation: any error while a batch begins does',
    edits: [
      {
        file: recover,
        from: "judge(kind === 'rows' ? 'fatal' : kind === 'locked' ? 'retry' : kind, facts",
        to: "judge('fatal', facts",
      },
    ],
    caughtBy: begins('a batch goes on when its connection is lost while it begins'),
  },
  {
    name: 'crashed-not-given-back',
    breaks: 'rows on which workers died are left alone: they are tried again when they cannot be isolated',
    edits: [
      { file: 'src/operations/batch-loop.ts', from: "  if (crashed === 'give back') return giveBack(run)\n", to: '' },
    ],
    caughtBy: begins('rows on which workers died are not tried again when they cannot be isolated'),
  },
  {
    name: 'lock-limit-in-one-statement',
    breaks: 'a sub-batch is short: in one statement it keeps its rows for as long as one of them is locked',
    edits: [{ file: commit, from: '    ...lockLimit(database, next),\n', to: '' }],
    caughtBy: lockedIn('in one statement'),
  },
  {
    name: 'lock-limit-in-a-transaction',
    breaks: 'a sub-batch is short: in a transaction it keeps its rows for as long as one of them is locked',
    edits: [{ file: commit, from: '    lockLimit(database, next),\n', to: '    {},\n' }],
    caughtBy: lockedIn('in a transaction'),
  },
  {
    name: 'sub-batch-aimed-too-long',
    breaks: 'a sub-batch is short: all that is fixed and its rows may take seconds together',
    edits: [{ file: 'src/operations/sizes.ts', from: '{ limitMs: 250, walBytes', to: '{ limitMs: 2_500, walBytes' }],
    caughtBy: sized('settles where rows and all that is fixed take at most 250 ms together'),
  },
  {
    name: 'sub-batch-as-long-as-what-is-fixed',
    breaks: 'a sub-batch is short: its rows take as long as all that is fixed, however long that is',
    edits: [
      {
        file: 'src/operations/size.ts',
        from: 'Math.min(Math.max(aim.targetMs, fixedMs), Math.max(aim.limitMs - fixedMs, aim.limitMs / 4))',
        to: 'Math.max(aim.targetMs, fixedMs)',
      },
    ],
    caughtBy: sized('is never aimed at more than 250 ms, whatever was measured'),
  },
  {
    name: 'locked-row-at-fault',
    breaks: 'a good row is never quarantined: locks of others count against it',
    edits: [
      {
        file: 'src/operations/verdict.ts',
        from: "if (kind === 'rows' && subBatchSize === 1)",
        to: 'if (subBatchSize === 1)',
      },
    ],
    caughtBy: {
      file: 'test/operations/locked-row.test.ts',
      test: 'a row that stays locked holds the operation, which says so and goes on when it is free',
    },
  },
  {
    name: 'look-not-narrowed',
    breaks: 'a good row is never quarantined: a wide look that fails counts against the first of its rows',
    edits: [
      {
        file: 'src/operations/next-stretch.ts',
        from: "if (run.target.classify(error) !== 'rows') throw error",
        to: 'throw error',
      },
    ],
    caughtBy: {
      file: 'test/operations/look.test.ts',
      test: 'a scope that fails on some rows has these isolated and no others, though empty stretches are passed over',
    },
  },
  {
    name: 'log-position-needed',
    breaks: 'operations run on every server: the fence asks for the position of the log, which some refuse to tell',
    edits: [
      {
        file: 'src/targets/postgres/fence.ts',
        from: "${our(connection, 'wal_position')}()::text as wal_at",
        to: 'pg_current_wal_insert_lsn()::text as wal_at',
      },
    ],
    caughtBy: { file: silent, test: unwatched },
  },
  {
    name: 'refused-probe-holds',
    breaks: 'operations run on every server: what a probe was never told counts as a danger',
    edits: [
      { file: 'src/governor/sampler.ts', from: 'if (isRefused(error) && this', to: 'if (key === undefined && this' },
    ],
    caughtBy: { file: silent, test: unwatched },
  },
  {
    name: 'unclear-not-said',
    breaks: 'an operation that stands still says why: a doubt that cannot be cleared is kept',
    edits: [
      {
        file: 'src/operations/stop-operation.ts',
        from: '  await holdOperation(run, error, unclearMs)\n',
        to: '  void [run, error, unclearMs]\n',
      },
    ],
    caughtBy: { file: silent, test: 'a doubt that the database does not clear holds the operation, with the reason' },
  },
  {
    name: 'kept-rows-unseen',
    breaks: 'finished means that no row is left: rows that a trigger keeps as they are look done',
    edits: [{ file: begin, from: leavesNone, to: 'leavesNone: verifies' }],
    caughtBy: kept('rows that a trigger keeps are isolated in the first pass where there is no second'),
  },
  {
    name: 'kept-rows-finished',
    breaks: 'finished means that no row is left: the second pass does not look at what it has changed',
    edits: [{ file: begin, from: leavesNone, to: 'leavesNone: keeps && bound.change !== undefined' }],
    caughtBy: kept('a value that the column rounds is found by the second pass'),
  },
  {
    name: 'kept-rows-of-own-work',
    breaks: 'finished means that no row is left: only presets are looked at after they have changed rows',
    edits: [{ file: begin, from: leavesNone, to: 'leavesNone: bound.change !== undefined && (verifies || keeps)' }],
    caughtBy: kept('rows that a trigger keeps from work of your own in a transaction are isolated by the second pass'),
  },
  {
    name: 'kept-rows-outside',
    breaks: 'finished means that no row is left: work with external effects leaves rows in scope',
    edits: [
      {
        file: commit,
        from: '  if (work.leavesNone) await refuseKept(database.work, { walk, window: next.window, scope })\n',
        to: '',
      },
    ],
    caughtBy: kept('rows that a trigger keeps from work of your own in no transaction are isolated by the second pass'),
  },
  {
    name: 'kept-rows-retried',
    breaks: 'finished means that no row is left: a row that is retried after the second pass looks done',
    edits: [{ file: begin, from: 'const verifies = operation.pass > 1', to: 'const verifies = run.batch.pass > 1' }],
    caughtBy: kept('a row that is kept again when it is retried is isolated again'),
  },
  {
    name: 'transaction-ended-unnoticed',
    breaks: 'rows and checkpoint go together: a checkpoint moves in another transaction than its rows',
    edits: [
      {
        file: 'src/targets/postgres/commit.ts',
        from: 'xact: work.bound.change === undefined ? fenced.xact : undefined,',
        to: '',
      },
    ],
    caughtBy: {
      file: 'test/operations/transaction-ended.test.ts',
      test: 'an operation fails and says why when its work ends the transaction by rollback',
    },
  },
  {
    name: 'late-counters-slow',
    breaks: 'nothing slows down for nobody: the time of a long statement counts as a crowd when it has ended',
    edits: [
      {
        file: 'src/governor/probes/active-sessions.ts',
        from: 'Math.min(most, Math.max(0, all - own))',
        to: 'Math.max(0, all - own, Math.min(most, 0))',
      },
    ],
    caughtBy: {
      file: 'test/governor/server-probes.test.ts',
      test: 'a long statement that is counted when it has ended does not look like a crowd',
    },
  },
]
