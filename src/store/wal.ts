import { statement } from './statement.ts'

/**
 * Has the server's WAL writer begin with what is there, without waiting for it: a record that belongs to no transaction
 * wakes it, as a commit does that nobody waits for.
 */
export const writeWal = statement<void, object>(
  'wal.write',
  `select pg_logical_emit_message(false, 'sluice', '')`,
  () => [],
)
