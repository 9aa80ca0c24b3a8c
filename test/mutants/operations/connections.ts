import type { Mutant } from '../mutant.ts'

const pool = 'src/store/pool.ts'
const settings = 'src/store/settings.ts'
const inStore = (file: string, test: string): Mutant['caughtBy'] => ({ file: `test/store/${file}.test.ts`, test })
const ours = (pooled: boolean): Mutant['caughtBy'] =>
  inStore('pool', `sessions have our settings, whatever the database says; behind a pooler: ${pooled}`)

/** What a session must be before anything is done on it. */
export const connections: readonly Mutant[] = [
  {
    name: 'default-isolation',
    breaks: 'claims and counts are read committed: sessions keep the isolation of the database',
    edits: [{ file: settings, from: "  default_transaction_isolation: 'read committed',\n", to: '' }],
    caughtBy: ours(false),
  },
  {
    name: 'transaction-isolation',
    breaks: 'claims and counts are read committed: a transaction begins with the default of its session',
    edits: [{ file: pool, from: "'begin isolation level read committed'", to: "'begin'" }],
    caughtBy: inStore(
      'pool',
      'a handler that makes another isolation the default of its session changes it for nobody else',
    ),
  },
  {
    name: 'transaction-timeout-of-the-role',
    breaks: 'tiny timeouts of a role end nothing of ours: a transaction ends after the time that the role allows',
    edits: [{ file: settings, from: "then ${setting('transaction_timeout', '0', local)} end", to: "then '' end" }],
    caughtBy: ours(false),
  },
  {
    name: 'idle-session-timeout-of-the-role',
    breaks:
      'tiny timeouts of a role end nothing of ours: a session that listens ends after the time that the role allows',
    edits: [{ file: settings, from: "  idle_session_timeout: '0',\n", to: '' }],
    caughtBy: ours(true),
  },
  {
    name: 'lock-timeout-of-the-role',
    breaks: 'tiny timeouts of a role end nothing of ours: a statement waits for a lock as long as the role allows',
    edits: [{ file: settings, from: '    lock_timeout: `${lockMs}`,\n', to: '' }],
    caughtBy: ours(false),
  },
  {
    name: 'settings-not-behind-pooler',
    breaks: 'a single statement behind a pooler has our settings: it is sent without a transaction',
    edits: [
      { file: pool, from: 'if (this.#pooled !== true) return this.alone', to: 'if (this.schema) return this.alone' },
    ],
    caughtBy: ours(true),
  },
  {
    name: 'short-keys-in-caller',
    breaks: 'all rows are visited: the last key is read in the form of the caller, with fewer digits',
    edits: [
      {
        file: 'src/operations/start.ts',
        from: 'tx === undefined ? prepare() : underOurForms(tx, prepare)',
        to: 'tx === undefined ? prepare() : prepare()',
      },
    ],
    caughtBy: inStore(
      'odd-settings',
      'keys are read in a transaction of the caller with all their digits, and its settings come back',
    ),
  },
  {
    name: 'read-only-kept-by-statement',
    breaks: 'a worker comes back after a failover: a session that cannot write returns to the pool',
    edits: [{ file: pool, from: '  if (isReadOnly(error)) return false\n', to: '' }],
    caughtBy: inStore(
      'read-only',
      'a session that turns out to be read-only is not used again; behind a pooler: false',
    ),
  },
  {
    name: 'read-only-kept-by-transaction',
    breaks: 'a worker comes back after a failover: a session that cannot write returns to the pool',
    edits: [{ file: pool, from: ' && !isReadOnly(error)', to: '' }],
    caughtBy: inStore(
      'read-only',
      'a session that turns out to be read-only is not used again; behind a pooler: false',
    ),
  },
  {
    name: 'read-only-kept-from-start',
    breaks: 'a worker comes back after a failover: a session that only reads stays with the old server for ever',
    edits: [{ file: pool, from: '    this.#readOnly.add(client)\n', to: '' }],
    caughtBy: inStore(
      'read-only',
      'a session that is read-only from the start answers once, so that the next goes to where the server is by then',
    ),
  },
  {
    name: 'read-from-standby',
    breaks: 'an operation ends with no row left: a worker reads from a standby that is behind',
    edits: [{ file: pool, from: 'if (this.#refusesReadOnly) throw', to: 'if (this.schema === undefined) throw' }],
    caughtBy: inStore(
      'read-only',
      'a worker does not even read from a server that cannot write; behind a pooler: false',
    ),
  },
  {
    name: 'listens-at-old-server',
    breaks: 'a worker comes back after a failover: claims go out on a session that cannot write',
    edits: [{ file: 'src/store/listen.ts', from: '        if (isReadOnly(error)) destroySocket(client)\n', to: '' }],
    caughtBy: inStore('read-only', 'the connection that listens ends when its server cannot write, and after its time'),
  },
  {
    name: 'connection-for-life',
    breaks: 'connections move with the name of the server: they are used for as long as they last',
    edits: [{ file: pool, from: '      maxLifetimeSeconds: options.lifeSeconds ?? lifeSeconds,\n', to: '' }],
    caughtBy: inStore('read-only', 'a connection is opened anew after its time'),
  },
  {
    name: 'never-gives-up',
    breaks: 'a worker that cannot work ends with an error: it waits for ever',
    edits: [
      { file: 'src/operations/worker.ts', from: 'if (untrustedMs >= giveUpMs) this', to: 'if (giveUpMs < 0) this' },
    ],
    caughtBy: {
      file: 'test/faults/give-up.test.ts',
      test: 'inside of another process it waits for better times, unless it is told not to',
    },
  },
  {
    name: 'outage-told-in-full',
    breaks: 'an outage is a few lines a minute: the log writes every try to connect',
    edits: [
      {
        file: 'src/telemetry/log.ts',
        from: 'const leftOut = repeats.pass(event, performance.now())',
        to: 'const leftOut = repeats.pass(event, performance.now()) ?? 0',
      },
    ],
    caughtBy: {
      file: 'test/faults/outage-log.test.ts',
      test: 'a worker process tells of an outage in a few lines, however often it tries to connect',
    },
  },
  {
    name: 'idle-end-is-an-error',
    breaks: 'a session that the server ends because it was idle is opened again: the look for a pooler fails',
    edits: [{ file: 'src/store/pooler.ts', from: 'if (!endedIdle(error) || look === mostLooks)', to: 'if (look > 0)' }],
    caughtBy: {
      file: 'test/store/pooler.test.ts',
      test: 'sessions that the server ends because they were idle are asked for again',
    },
  },
  {
    name: 'wait-in-the-pool-of-the-driver',
    breaks:
      'to wait for a free connection is no failure to connect: the driver waits, and gives up as for a dead server',
    edits: [
      {
        file: 'src/store/pool.ts',
        from: 'this.#places = new Slots(options.size)',
        to: 'this.#places = new Slots(1_000)',
      },
    ],
    caughtBy: inStore(
      'pool',
      'to wait for a free connection is no failure to connect, however long the driver would wait for a server',
    ),
  },
  {
    name: 'pooler-by-luck',
    breaks: 'limits stay out of shared sessions: a pooler is known only by sessions that happen to be shared',
    edits: [
      {
        file: 'src/store/pooler.ts',
        from: 'own.some((pid) => pid !== told) || other !== toldOther',
        to: 'own.some((pid) => pid !== own[0] && told !== toldOther)',
      },
    ],
    caughtBy: inStore(
      'pooler',
      'a pooler is recognized by the key that it gives, also where each client seems to have a server to itself',
    ),
  },
  {
    name: 'statement-mode',
    breaks: 'a pooler that cannot run a transaction is refused',
    edits: [{ file: 'src/store/pooler.ts', from: '  if (pooled) await refuseStatementMode(first)\n', to: '' }],
    caughtBy: inStore('pooler', 'a pooler in statement mode is refused; configured as auto'),
  },
  {
    name: 'pooler-found-after-all',
    breaks: 'the configuration overrules what is found of a pooler: one that it denies is found',
    edits: [{ file: 'src/store/pooler.ts', from: "  if (given === 'none') return false\n", to: '' }],
    caughtBy: inStore('pooler', 'the configuration overrules what was found'),
  },
  {
    name: 'pooler-option-unheard',
    breaks: 'the configuration overrules what is found of a pooler: what it says is not passed on',
    edits: [
      {
        file: 'src/config/resolve.ts',
        from: 'poolerOf(config.pooler ?? defaults.pooler)',
        to: 'poolerOf(config.pooler && defaults.pooler)',
      },
    ],
    caughtBy: {
      file: 'test/observe/doctor.test.ts',
      test: 'a pooler is told, or not, as the configuration says',
    },
  },
]
