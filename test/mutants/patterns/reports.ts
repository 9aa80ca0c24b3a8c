import type { Mutant } from '../mutant.ts'

const toldOnce = 'test/observe/alerts/told-once.test.ts'
const retention = 'test/observe/audit/retention.test.ts'
const audit = 'src/store/schema/functions/audit.sql'
const rights = 'test/dashboard/rights.test.ts'
const oneTransaction = 'test/observe/audit/one-transaction.test.ts'
const store = 'src/store/alerts.ts'
const failedOperations: Mutant['caughtBy'] = {
  file: 'test/observe/alerts/failed-operations.test.ts',
  test: 'an operation that fails raises an alert and a metric, until it is taken up again',
}
const advisory = 'test/store/advisory-locks.test.ts'

/** Guards of what people are told: the audit and alerts. */
export const reports: readonly Mutant[] = [
  {
    name: 'audit-row-apart',
    breaks: 'a change and its row in the audit commit together: the row is written in a transaction of its own',
    edits: [
      {
        file: 'src/store/audit.ts',
        from: 'await recordAct(transaction, who, act)',
        to: 'await recordAct(database.control, who, act)',
      },
    ],
    caughtBy: { file: oneTransaction, test: 'the row of queue.pause is written in the transaction of the change' },
  },
  {
    name: 'audit-job-row-apart',
    breaks: 'a change and its row in the audit commit together: that of a job that is ended is written by itself',
    edits: [
      {
        file: 'src/store/jobs/endings.ts',
        from: 'const touched = ended?.touched ?? []\n    await note(transaction, touched)',
        to: 'const touched = ended?.touched ?? []\n    await note(database.control, touched)',
      },
    ],
    caughtBy: { file: oneTransaction, test: 'the row of job.cancel is written in the transaction of the change' },
  },
  {
    name: 'alert-told-at-every-look',
    breaks: 'a change of an alert is told once: it is told again at every look',
    edits: [{ file: store, from: 'where s.firing <> coalesce(w.firing, false)`', to: 'where true`' }],
    caughtBy: { file: toldOnce, test: 'a change of an alert is told by the one who makes it, once' },
  },
  {
    name: 'alert-judged-by-two',
    breaks: 'one process judges at a time: two judge at once, and both tell of the same change',
    edits: [{ file: 'src/observe/alerts/alerts.ts', from: 'if (lock?.locked !== true) return []', to: 'void lock' }],
    caughtBy: { file: toldOnce, test: 'nobody judges while another process judges' },
  },
  {
    name: 'alert-told-while-telling',
    breaks: 'a webhook is told once when all goes well: an alert that is being told is given to another process',
    edits: [
      {
        file: store,
        from: "       and (telling_at is null or telling_at < clock_timestamp() - interval '1 minute' or telling_at < changed_at)\n",
        to: '',
      },
    ],
    caughtBy: { file: toldOnce, test: 'an alert that somebody tells of is not told by another within the minute' },
  },
  {
    name: 'alert-told-by-two',
    breaks: 'a webhook is told once when all goes well: two processes take the same alert at the same moment',
    edits: [{ file: store, from: '     limit 1\n     for update skip locked)', to: '     limit 1)' }],
    caughtBy: {
      file: toldOnce,
      test: 'an alert that two processes want to tell of at the same moment goes to one of them',
    },
  },
  {
    name: 'alert-end-lost',
    breaks: 'every change of an alert is told at least once: the note for an earlier change covers a later one',
    edits: [
      {
        file: store,
        from: "and date_trunc('milliseconds', changed_at) = $3",
        to: 'and $3::timestamptz is not null',
      },
    ],
    caughtBy: {
      file: toldOnce,
      test: 'the end of an alert is told although its beginning is noted as told only later',
    },
  },
  {
    name: 'password-shown-after-at',
    breaks: 'no password of a connection string is shown: what follows its first "@" is',
    edits: [
      {
        file: 'src/std/redact.ts',
        from: "} else if (character === '@') {",
        to: "} else if (character === '@' && end < start) {",
      },
    ],
    caughtBy: {
      file: 'test/std/redact.test.ts',
      test: 'passwords are taken out of any text as the short expression for them would',
    },
  },
  {
    name: 'dashboard-token-used-again',
    breaks:
      'the address of a start opens one session: its token lets in whoever brings it, as long as the process lives',
    edits: [{ file: 'src/dashboard/token.ts', from: 'used = true', to: 'used = false' }],
    caughtBy: { file: rights, test: 'opens one session: whoever finds it later is let in nowhere' },
  },
  {
    name: 'dashboard-rows-for-operators',
    breaks: 'a dry run shows rows to an admin only: an operator gets one, too',
    edits: [
      {
        file: 'src/dashboard/routes/operations.ts',
        from: "includes(visitor.role, contract['operations.start'].role)",
        to: "includes(visitor.role, 'operator')",
      },
    ],
    caughtBy: { file: rights, test: 'a plan shows rows of a table to an admin only' },
  },
  {
    name: 'dashboard-schedule-starts-for-operators',
    breaks: 'an operation is started by an admin only: an operator has a schedule start it',
    edits: [
      {
        file: 'src/dashboard/routes/schedules.ts',
        from: 'if (!includes(visitor.role, role))',
        to: 'if (!includes(visitor.role, role) && role === visitor.role)',
      },
    ],
    caughtBy: { file: rights, test: 'a schedule is run by whoever may start what it starts' },
  },
  {
    name: 'audit-young-forgotten',
    breaks: 'acts of the last 30 days stay: whoever has the rights of a worker removes what they have just done',
    edits: [{ file: audit, from: 'greatest(keep_days, 30)', to: 'keep_days' }],
    caughtBy: { file: retention, test: 'no act of the last 30 days is forgotten, whatever a worker asks for' },
  },
  {
    name: 'audit-deleted-by-owner',
    breaks: 'acts are removed by their retention alone: the owner may delete them',
    edits: [
      {
        file: audit,
        from: "if tg_op = 'DELETE' and current_setting('sluice.forgets_acts', true) = 'on' then",
        to: "if tg_op = 'DELETE' then",
      },
    ],
    caughtBy: {
      file: retention,
      test: 'not even the owner deletes an act, also in the transaction that forgets others',
    },
  },
  {
    name: 'doctor-shared-rights-overlooked',
    breaks: 'doctor knows every right of a worker: those that other roles have, too, are overlooked',
    edits: [
      {
        file: 'src/store/server.ts',
        from: "import type { Right } from './rights.ts'",
        to: "import { rightsOf, type Right } from './rights.ts'",
      },
      {
        file: 'src/store/server.ts',
        from: '  (rights) => [rights.map',
        to: "  (all, rights = all.filter((a) => !rightsOf('dashboard').some((b) => b.object === a.object))) => [rights.map",
      },
    ],
    caughtBy: {
      file: 'test/observe/doctor.test.ts',
      test: 'each right that the script gives to a worker is missed when it is not there',
    },
  },
  {
    name: 'doctor-sees-its-own-isolation',
    breaks: 'doctor tells of another isolation: it looks at its own session, where it is always right',
    edits: [
      {
        file: 'src/store/server.ts',
        from: "(select reset_val from pg_settings where name = 'default_transaction_isolation') as isolation",
        to: "current_setting('default_transaction_isolation') as isolation",
      },
    ],
    caughtBy: {
      file: 'test/observe/doctor.test.ts',
      test: 'another isolation of the database or of the role is told, though our own sessions never have it',
    },
  },
  {
    name: 'failed-operation-without-alert',
    breaks: 'an operation that fails raises an alert: none is judged by its end',
    edits: [{ file: store, from: "where h.status = 'failed'\n", to: "where h.status = 'failing'\n" }],
    caughtBy: failedOperations,
  },
  {
    name: 'failed-operation-not-counted',
    breaks: 'an operation that fails raises a metric: it stays at nothing',
    edits: [
      {
        file: 'src/observe/metrics/prometheus-events.ts',
        from: "    'operation.failed': (payload) => made.failed.inc(operation(payload)),\n",
        to: '',
      },
    ],
    caughtBy: failedOperations,
  },
  {
    name: 'passwords-sought-again-and-again',
    breaks: 'a text is read once for passwords: each beginning of one is followed to the end of the word',
    edits: [
      {
        file: 'src/std/redact.ts',
        from: 'of passwordsIn(text)) {',
        to: 'of Array.from(text.matchAll(/:\\/\\/[^\\s:@/?#]*:(\\S*)@/g), ({ 0: { length }, 1: { length: own }, index }) => ({ start: index + length - own - 1, end: index + length - 1 }))) {',
      },
    ],
    caughtBy: {
      file: 'test/std/redact.test.ts',
      test: 'a text of beginnings of connection strings is read once, character by character',
    },
  },
  {
    name: 'acts-kept-for-ever',
    breaks: 'audit and summaries have a retention: nobody forgets anything',
    edits: [
      { file: 'src/operations/chores.ts', from: '      if (due) await forget(deps)\n', to: '      void forget\n' },
    ],
    caughtBy: { file: retention, test: 'two years are kept where nothing else is said' },
  },
  {
    name: 'alerts-locked-by-anybody',
    breaks: 'only workers can keep workers from judging alerts: any login can take the lock',
    edits: [
      {
        file: 'src/store/alerts.ts',
        from: 'select exists (select from made union all select from taken) as locked`',
        to: `select pg_try_advisory_xact_lock(hashtextextended('sluice.alert', 0))
     and exists (select from made union all select from taken) as locked\``,
      },
    ],
    caughtBy: { file: advisory, test: 'a login that holds advisory locks keeps nobody from judging alerts' },
  },
  {
    name: 'alert-turn-not-made-again',
    breaks: 'alerts are judged after a restore: a row that it has left out is not made again, and nobody gets the lock',
    edits: [
      {
        file: 'src/store/alerts.ts',
        from: 'insert into sluice.alert_turn default values on conflict do nothing returning id',
        to: 'select id from sluice.alert_turn where false',
      },
    ],
    caughtBy: {
      file: advisory,
      test: 'alerts are judged also after a restore that has left out the row that is locked',
    },
  },
  {
    name: 'partitions-locked-by-anybody',
    breaks: 'only workers can keep workers from creating partitions: any login can take the lock',
    edits: [
      {
        file: 'src/store/schema/functions/partitions.sql',
        from: 'perform sluice.lock_partitions();',
        to: "perform pg_advisory_xact_lock(hashtextextended('sluice.create_partitions', 0));",
      },
    ],
    caughtBy: { file: advisory, test: 'a login that holds advisory locks keeps nobody from creating partitions' },
  },
  {
    name: 'partition-turn-not-made-again',
    breaks: 'partitions are created one after the other: nobody waits where a restore has left out the row',
    edits: [
      {
        file: 'src/store/schema/functions/partitions.sql',
        from: 'insert into sluice.partition_turn default values on conflict do nothing;',
        to: '',
      },
    ],
    caughtBy: {
      file: advisory,
      test: 'partitions are created one after the other also after a restore that has left out the row that is locked',
    },
  },
]
