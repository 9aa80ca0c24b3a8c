import type { Mutant } from '../mutant.ts'

const ended = 'test/jobs/transaction-ended.test.ts'

/** Guards of transactions that handlers are given, and of what is written down whatever a handler throws. */
export const jobTransactions: readonly Mutant[] = [
  {
    name: 'end-of-transaction-unnoticed',
    breaks: 'changes and the end of a job commit together: a handler that has ended their transaction is not noticed',
    edits: [
      {
        file: 'src/store/jobs/transaction.ts',
        from: '      if (transaction.isEnded()) throw endedBy(held)\n      const order',
        to: '      const order',
      },
    ],
    caughtBy: { file: ended, test: 'a job fails and says why when its handler ends the transaction by rollback' },
  },
  {
    name: 'chained-transaction-unnoticed',
    breaks: 'changes and the end of a job commit together: a transaction that follows at once is taken for theirs',
    edits: [{ file: 'src/store/transaction-end.ts', from: ' || /\\band\\s+chain\\b/i.test(text)', to: '' }],
    caughtBy: {
      file: ended,
      test: 'a job fails and says why when its handler ends the transaction by rollback and chain',
    },
  },
  {
    name: 'sent-after-end-of-transaction',
    breaks:
      'what goes through tx commits with the job: after a ROLLBACK of the handler each statement commits by itself',
    edits: [
      {
        file: 'src/store/jobs/transaction.ts',
        from: '    if (transaction.isEnded()) throw endedBy(held)\n    return',
        to: '    return',
      },
    ],
    caughtBy: { file: ended, test: 'what a handler sends after it has ended the transaction is refused' },
  },
  {
    name: 'once-stored-by-itself',
    breaks: 'the result of once commits with its changes: it is stored although the work has rolled them back',
    edits: [
      {
        file: 'src/patterns/inbox/once.ts',
        from: '  if (isEnded()) throw endedBy(order)\n  const result',
        to: '  const result',
      },
    ],
    caughtBy: { file: ended, test: 'once fails and stores no result when its work ends the transaction' },
  },
  {
    name: 'errors-as-they-are',
    breaks: 'how a job ended is written down in any database: an error with letters that it does not have is refused',
    edits: [
      { file: 'src/store/pool.ts', from: 'valuesIn(this.#encoding, values)', to: "valuesIn('UTF8', values)" },
      { file: 'src/store/pool.ts', from: '    this.#encoding = state.encoding\n', to: '' },
      { file: 'src/store/pool.ts', from: "  #encoding = 'UTF8'\n", to: '' },
    ],
    caughtBy: {
      file: 'test/jobs/encoding.test.ts',
      test: 'a job whose error cannot be stored as it is is tried again; in a transaction: false',
    },
  },
  {
    name: 'unstorable-text-unexplained',
    breaks: 'bad input is refused with a code: text that the encoding lacks ends in an error of the database',
    edits: [{ file: 'src/store/statement.ts', from: "code === '22P05'", to: "code === 'none'" }],
    caughtBy: {
      file: 'test/jobs/encoding.test.ts',
      test: 'text that the database cannot store is refused with a code, and takes no other call with it',
    },
  },
  {
    name: 'failures-counted-under-lost-names',
    breaks:
      'a job is dead after as many attempts as its rule says: they are counted under a name that is not found again',
    edits: [
      {
        file: 'src/jobs/policy.ts',
        from: 'const counter = escaped(name)',
        to: 'const counter = name || escaped(name)',
      },
    ],
    caughtBy: {
      file: 'test/jobs/encoding.test.ts',
      test: 'failures by a rule whose name cannot be stored are counted',
    },
  },
  {
    name: 'swept-keys-lose-letters',
    breaks: 'a failed row is found by its key: the key loses the letters that an error may lose',
    edits: [
      {
        file: 'src/store/sweep-claims.ts',
        from: 'nonce, failures(rows)]',
        to: 'nonce, rows.length < 0 ? failures(rows) : freeJson(rows)]',
      },
    ],
    caughtBy: {
      file: 'test/patterns/encoding.test.ts',
      test: 'a row whose effect fails with an error that cannot be stored as it is is tried again',
    },
  },
]
