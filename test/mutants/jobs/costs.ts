import type { Mutant } from '../mutant.ts'

const claimJobs = 'src/store/schema/functions/claim_jobs.sql'
const jobKeys = 'src/store/schema/functions/job_keys.sql'
const costs = 'test/jobs/growing-costs.test.ts'
const views = 'src/store/jobs/views.ts'
const hints = 'test/jobs/hints.test.ts'

/** What keeps costs flat where there are many keys, queues, days or snoozes, and what must not get lost by that. */
export const jobCosts: readonly Mutant[] = [
  {
    name: 'sweep-looks-at-all-keys',
    breaks: 'the cost of a sweep does not grow with the keys: it looks at all of them',
    edits: [{ file: jobKeys, from: '    from head h\n    limit p_most) k;', to: '    from head h) k;' }],
    caughtBy: {
      file: costs,
      test: 'a sweep of concurrency keys looks at a thousand of them, however many there are',
    },
  },
  {
    name: 'sweep-begins-anew',
    breaks: 'every key is looked at: each sweep of a worker begins with the first',
    edits: [
      {
        file: 'src/store/jobs/maintenance.ts',
        from: 'this.#after = next\n',
        to: 'this.#after = next === "" ? next : null\n',
      },
    ],
    caughtBy: { file: costs, test: 'a worker goes on with the keys that its last sweep did not reach' },
  },
  {
    name: 'due-keys-not-let-in',
    breaks: 'a job with a key runs when it is due: it waits until sweeps come by its key',
    edits: [{ file: jobKeys, from: 'admit_jobs(due || roomy)', to: 'admit_jobs(roomy)' }],
    caughtBy: {
      file: costs,
      test: 'a job with a key that is due is let in by the sweep that finds it, wherever that looks',
    },
  },
  {
    name: 'admission-walks-other-jobs',
    breaks: 'to let in a key reads its own jobs: those of all keys that are inside are read',
    edits: [{ file: jobKeys, from: 'l.state = inside)', to: 'l.state = 4)' }],
    caughtBy: {
      file: costs,
      test: 'to let in keys reads their jobs and no others, also when statistics say that there are none',
    },
  },
  {
    name: 'claim-looks-into-all-queues',
    breaks: 'the cost of a claim does not grow with the queues: it looks into all of them',
    edits: [{ file: 'src/store/jobs/where-to-look.ts', from: 'const fewQueues = 50', to: 'const fewQueues = 5_000' }],
    caughtBy: { file: costs, test: 'a claim looks into a few queues, however many there are' },
  },
  {
    name: 'busy-queues-left-out',
    breaks: 'every queue is looked into: those after the first ones with jobs never are',
    edits: [
      { file: claimJobs, from: 'next_after := least(fresh[p_most], waiting[p_most], scheduled[p_most]);', to: '' },
    ],
    caughtBy: { file: costs, test: 'looks for busy queues that follow each other leave none out' },
  },
  {
    name: 'due-queue-not-busy',
    breaks: 'a job runs when it is due: a queue with nothing else in it is taken for empty',
    edits: [{ file: claimJobs, from: 'unnest(fresh || waiting || due) q', to: 'unnest(fresh || waiting) q' }],
    caughtBy: { file: costs, test: 'busy is a queue with jobs that are new, next in line or due, and no other' },
  },
  {
    name: 'each-snooze-recorded',
    breaks: 'a job that waits by snoozing costs little: a row is kept of each snooze',
    edits: [{ file: 'src/jobs/attempt.ts', from: 'unrecorded: !isRecorded(snoozes)', to: 'unrecorded: false' }],
    caughtBy: { file: costs, test: 'a snooze that is not recorded leaves no row, and is counted all the same' },
  },
  {
    name: 'stop-unheard-in-a-claim',
    breaks: 'a worker stops at once: it sleeps when the stop came while it claimed',
    edits: [
      { file: 'src/jobs/worker.ts', from: ' && !hint.notified && !stopping.aborted)', to: ' && !hint.notified)' },
    ],
    caughtBy: {
      file: 'test/jobs/shutdown.test.ts',
      test: 'a worker that is stopped while it claims does not wait for its next look',
    },
  },
  {
    name: 'session-for-no-setting',
    breaks: 'a worker without work of users has no connection for it: it looks there for settings to put back',
    edits: [
      { file: 'src/targets/postgres/upkeep.ts', from: '      if (any?.kept !== true) return undefined\n', to: '' },
    ],
    caughtBy: {
      file: 'test/jobs/shutdown.test.ts',
      test: 'a worker that has no work of users opens no connection for it',
    },
  },
  {
    name: 'days-of-one-table-forgotten',
    breaks: 'every end has a place: only the first table is looked at for the days to come',
    edits: [
      {
        file: 'src/store/partitions.ts',
        from: '  ({ tables, unit, ahead }) => [tables, unit, ahead],',
        to: '  ({ tables, unit, ahead }) => [tables.slice(0, 1), unit, ahead],',
      },
    ],
    caughtBy: { file: 'test/jobs/retention.test.ts', test: 'nor is one day of one table forgotten' },
  },
  {
    name: 'old-days-not-looked-for',
    breaks: 'days that are old enough go: nobody looks for them',
    edits: [
      { file: 'src/store/partitions.ts', from: "     where c.relname ~ '_[0-9]{8}$'\n", to: '     where false\n' },
    ],
    caughtBy: {
      file: 'test/jobs/retention.test.ts',
      test: 'any worker drops the days that are old enough; what did not succeed is kept longer',
    },
  },
  {
    name: 'all-workers-look',
    breaks: 'one job costs a few claims: who has looked does not tell the others that nothing is left',
    edits: [
      {
        file: 'src/store/jobs/postgres-queue.ts',
        from: '    this.claimer.tellOthers(next.value, contested)\n',
        to: '',
      },
    ],
    caughtBy: {
      file: hints,
      test: 'a worker tells the others that it has left nothing, and stays asleep when another one has',
    },
  },
  {
    name: 'told-worker-looks',
    breaks: 'one job costs a few claims: a worker looks although another one has left nothing',
    edits: [{ file: 'src/store/jobs/hints.ts', from: 'this.close(hint.id)', to: 'this.open(hint.id)' }],
    caughtBy: {
      file: hints,
      test: 'not when new jobs are in queues that it does not serve, or when workers of another group have looked',
    },
  },
  {
    name: 'later-hint-forgotten',
    breaks: 'a hint counts until somebody has looked after it: a look before it ends it, too',
    edits: [{ file: 'src/store/jobs/hints.ts', from: '    if (id !== this.#last) return\n', to: '' }],
    caughtBy: {
      file: hints,
      test: 'not when another one has looked since the last hint, but when that was an earlier one',
    },
  },
  {
    name: 'foreign-queue-looked-into',
    breaks: 'workers sleep through hints that are not for them: they look whatever the queue is',
    edits: [{ file: 'src/store/jobs/hints.ts', from: 'if (serves(hint.queues)) this', to: 'this' }],
    caughtBy: {
      file: hints,
      test: 'not when new jobs are in queues that it does not serve, or when workers of another group have looked',
    },
  },
  {
    name: 'full-worker-keeps-hint',
    breaks: 'a hint is passed on by a worker that is full: it says that nothing is left',
    edits: [{ file: 'src/store/jobs/claimer.ts', from: "return 'more'", to: "return 'nothing'" }],
    caughtBy: { file: hints, test: 'a look tells the others whether it has left anything, if it knows' },
  },
  {
    name: 'doubtful-look-ends-hint',
    breaks: 'a look that began above late jobs does not end the hint for others',
    edits: [{ file: 'src/store/jobs/claimer.ts', from: ' && (swept || count > 0)', to: '' }],
    caughtBy: { file: hints, test: 'a look tells the others whether it has left anything, if it knows' },
  },
  {
    name: 'live-job-sought-among-ended',
    breaks: 'a look at a job that has not ended locks few tables: it goes through the days of those that have',
    edits: [{ file: views, from: '  if (live !== undefined) return live\n', to: '' }],
    caughtBy: {
      file: costs,
      test: 'whoever looks at a job that has not ended locks none of the days of those that have',
    },
  },
  {
    name: 'all-days-at-once',
    breaks: 'a look at a job that has ended locks some days: it locks all that are kept',
    edits: [{ file: views, from: 'const daysPerLook = 7\n', to: 'const daysPerLook = 700\n' }],
    caughtBy: { file: costs, test: 'whoever looks at a job that has ended locks the days around its end' },
  },
]
