import { SluiceError } from '../errors.ts'
import type { StoreConnection } from './connection.ts'
import { statement } from './statement.ts'

/** The setting that marks a database for tests; of a server, a database, a role or one connection. */
const mark = 'sluice.for_tests'

const named = statement<void, { name: string; marked: boolean }>(
  'database.forTests',
  `select current_database()::text as name, coalesce(lower(current_setting($1, true)) in ('on', 'true', '1'), false) as marked`,
  () => [mark],
)

/** Whether "test" is a word of a database's name: `app_test` and `test-7` are for tests, `contests` is not. */
export function isTestName(name: string): boolean {
  return /(^|[^a-z])tests?([^a-z]|$)/i.test(name)
}

/**
 * Refuses a database that is not meant for tests. Tools for tests delete queues and run what is in them, and one missing
 * variable is all that it takes to point them at the real one.
 */
export async function checkForTests(connection: StoreConnection, env: NodeJS.ProcessEnv): Promise<void> {
  if (env['NODE_ENV'] === 'production') {
    throw refusal(
      'The tools of sluice/testing do not run in production, and NODE_ENV is "production". They delete queues and run ' +
        'the jobs in them. Set NODE_ENV to "test", and name a database that is only for tests.',
      {},
    )
  }
  const [database] = await named(connection)
  if (database === undefined || database.marked || isTestName(database.name)) return
  const { name } = database
  throw refusal(
    `The database "${name}" is not marked for tests, and the tools of sluice/testing delete queues and run the jobs in ` +
      'them. Name a database that has the word "test" in its name, such as "app_test". If this one is only for tests, ' +
      `mark it: alter database "${name}" set ${mark} = on.`,
    { database: name },
  )
}

function refusal(message: string, details: Record<string, unknown>): SluiceError {
  return new SluiceError('DATABASE_NOT_FOR_TESTS', { message, details })
}
