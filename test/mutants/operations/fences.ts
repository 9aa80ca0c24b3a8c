import type { Edit, Mutant } from '../mutant.ts'

const oneStatement = 'src/targets/one-statement.ts'
const subBatch = 'src/operations/sub-batch.ts'
const batches = 'src/store/batches.ts'

const refused = (form: string): Mutant['caughtBy'] => ({
  file: 'test/operations/fence.test.ts',
  test: `${form} changes nothing unless it passes the fence`,
})

/** Moving a checkpoint compares the nonce, too, which covers for a fence that does not. */
const checkpointByAnyone: Edit = {
  file: batches,
  from: "where id = $1 and nonce = $2 and state = 'running'\n     and ($10::text is null or pg_current_xact_id()::text = $10)",
  to: "where id = $1 and $2::uuid is not null and coalesce($10::text, '') is not null",
}

/** The fence in each form of a sub-batch. */
export const fences: readonly Mutant[] = [
  {
    name: 'one-statement-nonce',
    breaks: 'a stale worker commits nothing: a sub-batch in one statement does not compare the nonce',
    edits: [
      {
        file: oneStatement,
        from: "where b.id = ${claim.batchId} and b.nonce = ${claim.nonce} and b.state = 'running'",
        to: "where b.id = ${claim.batchId} and ${claim.nonce}::uuid is not null and b.state = 'running'",
      },
    ],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-lock',
    breaks: 'a stale worker commits nothing: a sub-batch in one statement reads its claim without locking it',
    edits: [{ file: oneStatement, from: '\n      for update of b\n', to: '\n' }],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-checkpoint',
    breaks: 'no row is done twice: a sub-batch in one statement begins where the checkpoint is not',
    edits: [{ file: oneStatement, from: 'where here and not disabled', to: 'where not disabled' }],
    caughtBy: refused('a stride in one statement'),
  },
  {
    name: 'one-statement-status',
    breaks: 'a pause stops an operation: a sub-batch in one statement does not look at the status',
    edits: [{ file: oneStatement, from: " and status in ('active', 'verifying')", to: '' }],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-disabled',
    breaks: 'a disabled definition changes nothing: a sub-batch in one statement does not ask',
    edits: [
      {
        file: oneStatement,
        from: "exists (select from ${our('disabled_operation')} d where d.name = o.name)\n          or ",
        to: '',
      },
    ],
    caughtBy: refused('a sub-batch in one statement'),
  },
  {
    name: 'one-statement-frozen',
    breaks: 'a freeze stops everything: a sub-batch in one statement does not ask',
    edits: [{ file: oneStatement, from: "\n          or exists (select from ${our('standstill')})", to: '' }],
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
        file: batches,
        from: "where b.id = $1 and b.nonce = $2 and b.state = 'running'\n   for update of b",
        to: "where b.id = $1 and $2::uuid is not null and b.state = 'running'\n   for update of b",
      },
    ],
    caughtBy: refused('a sub-batch with external effects'),
  },
  {
    name: 'fence-lock',
    breaks: 'no row is done twice: the fence does not lock the claim, and misses a checkpoint that is about to move',
    edits: [{ file: batches, from: '\n   for update of b`', to: '`' }],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-checkpoint',
    breaks: 'no row is done twice: the fence does not compare the checkpoint',
    edits: [
      { file: subBatch, from: 'if (!sameKey(fenced.checkpoint, lower)) throw new CheckpointMoved()', to: 'void lower' },
    ],
    caughtBy: refused('a stride in a transaction'),
  },
  {
    name: 'fence-status',
    breaks: 'a pause stops an operation: the fence does not look at the status',
    edits: [
      {
        file: subBatch,
        from: "fenced.disabled || (fenced.status !== 'active' && fenced.status !== 'verifying')",
        to: 'fenced.disabled',
      },
    ],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-disabled',
    breaks: 'a disabled definition changes nothing: the fence lets it pass',
    edits: [{ file: subBatch, from: 'fenced.disabled || ', to: '' }],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-frozen',
    breaks: 'a freeze stops everything: the fence does not ask',
    edits: [
      { file: batches, from: '\n       or exists (select from sluice.standstill) as disabled', to: ' as disabled' },
    ],
    caughtBy: refused('a sub-batch in a transaction'),
  },
  {
    name: 'fence-before-transaction',
    breaks: 'a stale worker commits nothing: the nonce is checked before the transaction instead of inside it',
    edits: [
      {
        file: subBatch,
        from: `return work.database.work.transaction(
    async (transaction) => {
      const fenced = await passOpenFence(transaction, work, next.window.lower)`,
        to: `const fenced = await passOpenFence(work.database.control, work, next.window.lower)
  return work.database.work.transaction(
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
    edits: [{ file: subBatch, from: '  await passOpenFence(database.control, work, next.window.lower)\n', to: '' }],
    caughtBy: refused('a sub-batch with external effects'),
  },
  {
    name: 'external-settled-unfenced',
    breaks: 'a sub-batch is written down once: after external effects the checkpoint moves wherever it is by then',
    edits: [
      {
        file: subBatch,
        from: '  await passOpenFence(database.control, work, next.window.lower)\n',
        to: '  const fenced = await passOpenFence(database.control, work, next.window.lower)\n',
      },
      { file: subBatch, from: '    const fenced = await passFence(transaction, work, next.window.lower)\n', to: '' },
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
        file: subBatch,
        from: '  await passOpenFence(database.control, work, next.window.lower)\n',
        to: '  const fenced = await passOpenFence(database.control, work, next.window.lower)\n',
      },
      { file: subBatch, from: '    const fenced = await passFence(transaction, work, next.window.lower)\n', to: '' },
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
        file: subBatch,
        from: 'const { wal_at: walAt } = await passOpenFence(transaction, work, window.lower)',
        to: "const walAt = '0/0'",
      },
    ],
    caughtBy: refused('passing over a window'),
  },
]
