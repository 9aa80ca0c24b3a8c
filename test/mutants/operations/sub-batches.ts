import type { Edit, Mutant } from '../mutant.ts'

const commit = 'src/targets/postgres/commit.ts'
const fence = 'src/targets/postgres/fence.ts'
const notThere: Edit = { file: fence, from: "  if (!fenced.here) return { kind: 'moved' }\n", to: '' }
const stride = 'src/targets/postgres/stride.ts'
const quarantine = 'src/targets/postgres/set-aside.ts'
const recover = 'src/operations/recover.ts'
const doubt = 'src/operations/doubt.ts'

const quarantining: Mutant['caughtBy'] = {
  file: 'test/operations/fence.test.ts',
  test: 'quarantining a row changes nothing unless it passes the fence',
}
const strides = (form: string): Mutant['caughtBy'] => ({
  file: 'test/operations/claim-held.test.ts',
  test: `a stride ${form} leaves the checkpoint to the last stride, which takes all remaining rows`,
})
const inDoubt = (test: string): Mutant['caughtBy'] => ({ file: 'test/operations/doubt.test.ts', test })

const secondPass = (test: string): Mutant['caughtBy'] => ({ file: 'test/operations/second-pass.test.ts', test })

const quarantineUnfenced: Edit = {
  file: quarantine,
  from: `      const fenced = await passFence(transaction, claim, range.window.lower)
      if (fenced.kind !== 'passed') return fenced
`,
  to: '',
}

/** Rows in quarantine, strides, and sub-batches whose answer was lost. */
export const subBatches: readonly Mutant[] = [
  {
    name: 'quarantine-unfenced',
    breaks: 'a pause stops an operation: a row is quarantined without passing the fence',
    edits: [quarantineUnfenced],
    caughtBy: quarantining,
  },
  {
    name: 'quarantine-stale',
    breaks: 'a stale worker commits nothing: a row is quarantined by whoever had the claim once',
    edits: [
      quarantineUnfenced,
      {
        file: quarantine,
        from: 'where ${claimed(claim)} and b.checkpoint',
        to: 'where b.id = ${claim.batchId} and b.checkpoint',
      },
    ],
    caughtBy: quarantining,
  },
  {
    name: 'quarantine-checkpoint',
    breaks: 'no row is skipped: a quarantine moves the checkpoint wherever it is',
    edits: [
      quarantineUnfenced,
      { file: quarantine, from: ' and b.checkpoint is not distinct from ${lower}::text[]', to: '' },
    ],
    caughtBy: quarantining,
  },
  {
    name: 'quarantine-tried-again',
    breaks: 'rows in quarantine wait for a person: the second pass tries them again',
    edits: [
      {
        file: 'src/targets/postgres/enter.ts',
        from: 'batch.pass === 1 ? []',
        to: 'batch.pass > 0 ? []',
      },
    ],
    caughtBy: secondPass('rows in quarantine are not tried again and do not trip the breaker'),
  },
  {
    name: 'quarantine-collation',
    breaks: 'no row is forgotten: keys in quarantine are compared in the collation of the database',
    edits: [
      {
        file: 'src/targets/postgres/quarantined.ts',
        from: 'return raw(`coalesce(${value}, (select ${quote(name)} from ${table} limit 0))`)',
        to: 'return raw(`coalesce(${value}, (select ${quote(name)} from ${table} limit 0)) collate "C"`)',
      },
    ],
    caughtBy: secondPass('keys in quarantine are compared as their column does, not as the database would'),
  },
  {
    name: 'stride-checkpoint-in-one-statement',
    breaks: 'no row is skipped: the first stride of a window moves the checkpoint past the rows of the others',
    edits: [
      {
        file: commit,
        from: 'to: moves ? window.upper : window.lower,\n    rowsSeen',
        to: 'to: window.upper,\n    rowsSeen',
      },
    ],
    caughtBy: strides('in one statement'),
  },
  {
    name: 'stride-checkpoint-in-a-transaction',
    breaks: 'no row is skipped: the first stride of a window moves the checkpoint past the rows of the others',
    edits: [
      { file: commit, from: 'to: moves ? window.upper : window.lower,\n    seen', to: 'to: window.upper,\n    seen' },
    ],
    caughtBy: strides('in a transaction'),
  },
  {
    name: 'stride-leaves-rows',
    breaks: 'no row is skipped: the last stride takes its own rows only, not those that moved meanwhile',
    edits: [
      {
        file: stride,
        from: 'if (stride === undefined || isLast(stride)) return slice',
        to: 'if (stride === undefined) return slice',
      },
    ],
    caughtBy: strides('in one statement'),
  },
  {
    name: 'stride-unsettled',
    breaks: 'no row is done twice: strides set a value again that depends on the one before it',
    edits: [
      {
        file: stride,
        from: 'return still.rows.length === 0',
        to: 'return still.rows.length >= 0',
      },
    ],
    caughtBy: {
      file: 'test/operations/claim-held.test.ts',
      test: 'a batch has no strides where a value depends on the one before it',
    },
  },
  {
    name: 'blind-retry',
    breaks: 'after a lost answer the claim row decides: the same rows are done again instead',
    edits: [{ file: recover, from: '  position.resume(found.checkpoint)\n', to: '' }, notThere],
    caughtBy: inDoubt('a sub-batch in a transaction is not done twice when the answer to its commit is lost'),
  },
  {
    name: 'blind-retry-in-one-statement',
    breaks: 'after a lost answer the claim row decides: one statement does the same rows again instead',
    edits: [
      { file: recover, from: '  position.resume(found.checkpoint)\n', to: '' },
      { file: commit, from: "  if (!done.here) return { kind: 'moved' }\n", to: '' },
      { file: 'src/targets/postgres/one-statement.ts', from: 'where here and wanted', to: 'where wanted' },
    ],
    caughtBy: inDoubt('a sub-batch in one statement is not done twice when its answer is lost'),
  },
  {
    name: 'doubt-not-awaited',
    breaks: 'after a lost answer the claim row decides: it is read while the transaction in doubt may still commit',
    edits: [
      {
        file: doubt,
        from: 'const claim = await run.target.where(run.held)',
        to: `const { rows: [claim] } = await run.database.control.query(
      'select checkpoint from sluice.batch where id = $1 and nonce = $2', [run.held.batchId, run.held.nonce])`,
      },
    ],
    caughtBy: inDoubt('a worker waits for a transaction in doubt before it reads the checkpoint'),
  },
  {
    name: 'finish-in-doubt',
    breaks: 'after a lost answer history decides: a batch that this claim finished counts as lost',
    edits: [{ file: doubt, from: "return before ?? 'lost'", to: "return 'lost'" }],
    caughtBy: inDoubt('a batch counts as finished when the answer to its finish is lost'),
  },
]
