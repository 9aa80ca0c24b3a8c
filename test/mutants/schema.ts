import type { Mutant } from './mutant.ts'

const status = 'src/store/schema-status.ts'
const functions = 'test/store/functions.test.ts'

/** Guards of who may change the schema, and of what is taken for up to date. */
export const schema: readonly Mutant[] = [
  {
    name: 'old-functions-put-back',
    breaks: 'a schema never goes back: an older release replaces the functions of a newer one',
    edits: [{ file: status, from: 'if (!same && newer !== undefined)', to: 'if (found === 0 && newer !== undefined)' }],
    caughtBy: {
      file: functions,
      test: 'an older release neither works with newer functions nor puts its own back',
    },
  },
  {
    name: 'old-functions-worked-with',
    breaks: 'a worker refuses a schema that it does not know: it works with the functions of an older release',
    edits: [{ file: status, from: 'there.get(name) !== hash', to: '!there.has(name) && hash !== name' }],
    caughtBy: { file: functions, test: 'a worker refuses functions that are older than its own, and writes none' },
  },
  {
    name: 'foreign-schema-taken',
    breaks: 'a schema from before the first release is refused: it counts as one of a newer release',
    edits: [{ file: status, from: '(ours.get(version) ?? name) !== name)', to: "ours.get(version) === '')" }],
    caughtBy: {
      file: functions,
      test: 'a schema from before the first release is refused, and nothing in it is changed',
    },
  },
  {
    name: 'old-functions-put-back-by-script',
    breaks: 'a schema never goes back: the printed script of an older release replaces the functions of a newer one',
    edits: [
      {
        file: 'src/store/migrations.ts',
        from: 'inSchema(guard(release), schema)',
        to: 'inSchema(guard(release), schema).slice(0, 0)',
      },
    ],
    caughtBy: {
      file: functions,
      test: 'an older release neither works with newer functions nor puts its own back',
    },
  },
  {
    name: 'deadlock-ends-migration',
    breaks: 'a migration beside workers is run again after a deadlock: it fails with the error of the server',
    edits: [{ file: 'src/store/migrate.ts', from: 'left === 0 || !isDeadlock(error)', to: 'left < tries' }],
    caughtBy: {
      file: 'test/store/migrate.test.ts',
      test: 'a migration that the server ends because of a deadlock with a worker is run again',
    },
  },
  {
    name: 'table-without-rights',
    breaks: 'who may do what with a table is said once: a table is not in the list of rights',
    edits: [{ file: 'src/store/rights.ts', from: '  sample_mark: {},\n', to: '' }],
    caughtBy: {
      file: 'test/store/rights.test.ts',
      test: 'each table and each function with the rights of the owner is in the list of rights, and nothing else',
    },
  },
  {
    name: 'functions-of-others',
    breaks: 'the migrator can replace every function: those that somebody else made stay theirs',
    edits: [
      {
        file: 'src/store/grants.ts',
        from: "where p.pronamespace = to_regnamespace('sluice') and",
        to: "where p.prosecdef and p.pronamespace = to_regnamespace('sluice') and",
      },
    ],
    caughtBy: { file: 'test/store/rights.test.ts', test: 'the migrator owns all that it may have to replace' },
  },
]
