const messages: Readonly<Record<string, string>> = {
  '25006': 'cannot execute statement in a read-only transaction',
  '25P03': 'terminating connection due to idle-in-transaction timeout',
  '25P04': 'terminating connection due to transaction timeout',
  '40001': 'could not serialize access due to concurrent update',
  '40P01': 'deadlock detected',
  '53100': 'could not extend file: No space left on device',
  '53300': 'sorry, too many clients already',
  '55P03': 'canceling statement due to lock timeout',
  '57014': 'canceling statement due to statement timeout',
  '57P01': 'terminating connection due to administrator command',
  '57P02': 'terminating connection because of crash of another server process',
  '57P03': 'the database system is starting up',
  '57P05': 'terminating connection due to idle-session timeout',
}

/** The server's own words for the codes that tests use, because some clients tell errors apart by text. */
export const messageOf = (sqlstate: string): string => messages[sqlstate] ?? `injected error ${sqlstate}`

/** Codes with which the server ends the session: shutdowns, time-outs of a session, refused connections. */
export const isFatal = (sqlstate: string): boolean => /^(08|28|57P0)/.test(sqlstate) || fatalCodes.has(sqlstate)

const fatalCodes = new Set(['25P03', '25P04', '53300', '3D000'])
