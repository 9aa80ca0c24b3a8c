import type { Mutant } from '../mutant.ts'

const toldOnce = 'test/alerts/told-once.test.ts'
const oneTransaction = 'test/audit/one-transaction.test.ts'
const store = 'src/store/alerts.ts'

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
        file: 'src/jobs/members.ts',
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
    edits: [{ file: 'src/alerts/alerts.ts', from: 'if (lock?.locked !== true) return []', to: 'void lock' }],
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
]
