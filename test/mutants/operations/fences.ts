import type { Edit, Mutant } from '../mutant.ts'

const oneStatement = 'src/targets/postgres/one-statement.ts'
const commit = 'src/targets/postgres/commit.ts'
const fence = 'src/targets/postgres/fence.ts'

const refused = (form: string): Mutant['caughtBy'] => ({
  file: 'test/operations/fence.test.ts',
  test: `${form} changes nothing unless it passes the fence`,
})

/** Moving a checkpoint compares the nonce, too, which covers for a fence that does not. */
const checkpointByAnyone: Edit = {
  file: fence,
  from: 'where ${claimed(claim)} ${same}',
  to: 'where b.id = ${claim.batchId} ${same === empty ? same : empty}',
}

/** The fence in each form of a sub-batch. */
export const fences: readonly Mutant[] = [
  {
    name: 'one-statement-nonce',
    breaks: 'a stale worker commits nothing: a sub-batch in one statement does not compare the nonce',
    edits: [
      {
        file: fence,
        from: 'b.nonce = ${nonce} and',
        to: '${nonce}::uuid is not null and',
      },
    ],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-lock',
    breaks: 'a stale worker commits nothing: a sub-batch in one statement reads its claim without locking it',
    edits: [{ file: fence, from: '\n    for update of b`', to: '`' }],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-checkpoint',
    breaks: 'no row is done twice: a sub-batch in one statement begins where the checkpoint is not',
    edits: [{ file: oneStatement, from: 'where here and wanted', to: 'where wanted' }],
    caughtBy: refused('a stride in one statement'),
  },
  {
    name: 'one-statement-status',
    breaks: 'a pause stops an operation: a sub-batch in one statement does not look at the status',
    edits: [{ file: fence, from: "o.status in ('active', 'verifying')\n        and ", to: '' }],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-disabled',
    breaks: 'a disabled definition changes nothing: a sub-batch in one statement does not ask',
    edits: [
      {
        file: fence,
        from: "\n        and not exists (select from ${our(connection, 'disabled_operation')} d where d.name = o.name)",
        to: '',
      },
    ],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-frozen',
    breaks: 'a freeze stops everything: a sub-batch in one statement does not ask',
    edits: [
      { file: fence, from: "\n        and not exists (select from ${our(connection, 'standstill')}) as", to: ' as' },
    ],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-unconditional',
    breaks: 'rows change only with their checkpoint: one statement changes them whatever its fence says',
    edits: [{ file: oneStatement, from: '${change(sql`exists (select from sluice_go)`)}', to: '${change(sql`true`)}' }],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'fence-nonce',
    breaks: 'external effects happen only under a claim: the fence lets a stale worker pass',
    edits: [
      {
        file: fence,
        from: 'where ${claimed(claim)} ${also}',
        to: "where b.id = ${claim.batchId} and b.state = 'running' ${also}",
      },
    ],
    caughtBy: refused('a sub-batch with external effects'),
  },
  {
    name: 'fence-lock',
    breaks: 'no row is done twice: the fence does not lock the claim, and misses a checkpoint that is about to move',
    edits: [{ file: fence, from: '\n    for update of b`', to: '`' }],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-checkpoint',
    breaks: 'no row is done twice: the fence does not compare the checkpoint',
    edits: [{ file: fence, from: "  if (!fenced.here) return { kind: 'moved' }\n", to: '' }],
    caughtBy: refused('a stride in a transaction'),
  },
  {
    name: 'fence-status',
    breaks: 'a pause stops an operation: the fence does not look at the status',
    edits: [
      {
        file: fence,
        from: "o.status in ('active', 'verifying')\n        and ",
        to: '',
      },
    ],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-disabled',
    breaks: 'a disabled definition changes nothing: the fence lets it pass',
    edits: [
      {
        file: fence,
        from: "\n        and not exists (select from ${our(connection, 'disabled_operation')} d where d.name = o.name)",
        to: '',
      },
    ],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-frozen',
    breaks: 'a freeze stops everything: the fence does not ask',
    edits: [
      { file: fence, from: "\n        and not exists (select from ${our(connection, 'standstill')}) as", to: ' as' },
    ],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-before-transaction',
    breaks: 'a stale worker commits nothing: the nonce is checked before the transaction instead of inside it',
    edits: [
      {
        file: commit,
        from: `return database.work.transaction<SubBatchOutcome>(
    async (transaction) => {
      const fenced = await passOpenFence(transaction, work, next.window.lower)`,
        to: `const fenced = await passOpenFence(database.control, work, next.window.lower)
  return database.work.transaction<SubBatchOutcome>(
    async (transaction) => {`,
      },
      checkpointByAnyone,
    ],
    caughtBy: {
      file: 'test/operations/claim-held.test.ts',
      test: 'a batch is not rescued while one of its sub-batches is open',
    },
  },
  {
    name: 'external-without-fence',
    breaks: 'external effects happen only under a claim: the handler is called before anybody looks at the claim',
    edits: [
      {
        file: commit,
        from: `  const open = await passOpenFence(database.control, work, next.window.lower)
  if (open.kind !== 'passed') return open
`,
        to: '',
      },
    ],
    caughtBy: refused('a sub-batch with external effects'),
  },
  {
    name: 'external-settled-unfenced',
    breaks: 'a sub-batch is written down once: after external effects the checkpoint moves wherever it is by then',
    edits: [
      {
        file: commit,
        from: `      const fenced = await passFence(transaction, work.claim, next.window.lower)
      if (fenced.kind !== 'passed') return fenced
      return settle(transaction, work, { next, fenced, began, tally })`,
        to: '      return settle(transaction, work, { next, fenced: open, began, tally })',
      },
    ],
    caughtBy: {
      file: 'test/operations/claim-held.test.ts',
      test: 'a checkpoint that moves while external effects run is not moved again',
    },
  },
  {
    name: 'external-settled-stale',
    breaks: 'external effects are finalized only under the same claim: nobody looks at the claim after them',
    edits: [
      {
        file: commit,
        from: `      const fenced = await passFence(transaction, work.claim, next.window.lower)
      if (fenced.kind !== 'passed') return fenced
      return settle(transaction, work, { next, fenced, began, tally })`,
        to: '      return settle(transaction, work, { next, fenced: open, began, tally })',
      },
      checkpointByAnyone,
    ],
    caughtBy: {
      file: 'test/operations/claim-held.test.ts',
      test: 'a claim that is lost while external effects run moves no checkpoint',
    },
  },
  {
    name: 'pass-over-unfenced',
    breaks: 'no row is skipped: passing over a window moves the checkpoint wherever it is',
    edits: [
      {
        file: 'src/targets/postgres/set-aside.ts',
        from: `const fenced = await passOpenFence(transaction, work, window.lower)
      if (fenced.kind !== 'passed') return fenced`,
        to: "const fenced = { wal_at: '0/0' }",
      },
    ],
    caughtBy: refused('passing over a window'),
  },
]
