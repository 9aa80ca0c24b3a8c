import type { Mutant } from '../mutant.ts'

const belonging = 'test/operations/belonging.test.ts'
const rights = 'test/store/rights.test.ts'
const operationFunctions = 'src/store/schema/functions/operations.sql'

/** Guards of who may start what: those who start operations have fewer rights than the workers that run them. */
export const starts: readonly Mutant[] = [
  {
    name: 'row-names-the-table',
    breaks: 'a worker changes the table of its own definition: it believes the row of the operation',
    edits: [
      {
        file: 'src/operations/belonging.ts',
        from: 'if (!isSame(given, own)) throw mismatch(definition.name, given, own)',
        to: 'void mismatch',
      },
    ],
    caughtBy: { file: belonging, test: 'a worker does not touch a table that its own definition does not name' },
  },
  {
    name: 'approval-left-out',
    breaks: 'an operation waits for its approval: a worker runs one that came into the queue without it',
    edits: [
      { file: 'src/operations/belonging.ts', from: '|| !definition.approval) return true', to: '|| true) return true' },
    ],
    caughtBy: { file: belonging, test: 'an operation that was recorded without its approval waits for one' },
  },
  {
    name: 'start-takes-any-name',
    breaks: 'names of operations are names: whoever may start one puts SQL in their place',
    edits: [{ file: operationFunctions, from: 'if fits is not true then', to: 'if false then' }],
    caughtBy: { file: belonging, test: 'an expression for a type is not recorded' },
  },
  {
    name: 'quoted-names-unknown',
    breaks: 'an operation that an index serves starts: a column that EXPLAIN quotes is not found in the plan',
    edits: [
      { file: 'src/targets/postgres/explain.ts', from: '  if (names.includes(quote(column))) return true\n', to: '' },
    ],
    caughtBy: {
      file: 'test/operations/preflight-refusal.test.ts',
      test: 'a walk along a leading column named time starts without force',
    },
  },
  {
    name: 'start-names-its-login',
    breaks: 'a forged start can be told: whoever starts an operation says which login they have',
    edits: [
      {
        file: operationFunctions,
        from: "'login', session_user)",
        to: "'login', coalesce(p_who ->> 'login', current_user))",
      },
    ],
    caughtBy: {
      file: belonging,
      test: 'an account that may only enqueue records nothing but starts, and each of them with its own login',
    },
  },
  {
    name: 'audit-open-to-enqueuers',
    breaks: 'the audit is written by those who act: an account that may only enqueue writes what it likes',
    edits: [
      {
        file: 'src/store/rights.ts',
        from: "'record_act(text, text, text, text, jsonb, jsonb, text)': workers,",
        to: "'record_act(text, text, text, text, jsonb, jsonb, text)': both,",
      },
    ],
    caughtBy: {
      file: rights,
      test: 'whoever may only enqueue has no access to an act of somebody else',
    },
  },
]
