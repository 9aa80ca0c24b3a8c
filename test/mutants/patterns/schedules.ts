import type { Mutant } from '../mutant.ts'

const store = 'src/store/schedules.ts'
const oneRun = 'test/patterns/schedules/one-run.test.ts'

/** Guards of schedules. */
export const schedules: readonly Mutant[] = [
  {
    name: 'schedule-rule-brought-back',
    breaks: 'a schedule follows the newest release: a worker of an old one brings its rule back',
    edits: [
      {
        file: store,
        from: `or excluded.rule || ' ' || excluded.zone <> all(s.past_rules)`,
        to: `or excluded.rule is not null`,
      },
    ],
    caughtBy: {
      file: 'test/patterns/schedules/deploys.test.ts',
      test: 'a worker of the old release that starts again does not bring the old rule back',
    },
  },
  {
    name: 'schedule-kept-by-nobody',
    breaks:
      'a schedule is kept as long as a worker knows it: one whose rule nobody has any more is left alone for ever',
    edits: [
      {
        file: store,
        from: 'or not exists (select from sluice.worker w',
        to: 'or false and not exists (select from sluice.worker w',
      },
    ],
    caughtBy: {
      file: 'test/patterns/schedules/deploys.test.ts',
      test: 'when no worker is left that keeps the rule of a schedule, another one brings its own rule back',
    },
  },
  {
    name: 'tick-without-primary-key',
    breaks: 'a tick has exactly one row: nothing keeps a second row of a tick out',
    edits: [
      {
        file: 'src/store/schema/tables/0005_patterns.sql',
        from: 'settled_at   timestamptz not null default clock_timestamp(),\n  primary key (schedule, tick)',
        to: 'settled_at   timestamptz not null default clock_timestamp()',
      },
      { file: store, from: '     on conflict (schedule, tick) do nothing\n', to: '' },
    ],
    caughtBy: { file: oneRun, test: 'a tick that has a row starts nothing' },
  },
  {
    name: 'tick-taken-runs-again',
    breaks: 'a tick starts one run: the run of a tick that has a row is kept',
    edits: [
      {
        file: 'src/patterns/schedules/settle.ts',
        from: 'if (settled === undefined) throw new TickTaken()',
        to: 'void settled',
      },
    ],
    caughtBy: { file: oneRun, test: 'a tick that has a row starts nothing' },
  },
  {
    name: 'schedule-not-locked',
    breaks: 'one worker at a time settles ticks of a schedule: it does not see the run that another is starting',
    edits: [
      { file: store, from: 's.zone = $3 and s.enabled\n   for update skip locked`', to: 's.zone = $3 and s.enabled`' },
    ],
    caughtBy: { file: oneRun, test: 'a worker leaves a schedule alone while another starts a run of it' },
  },
  {
    name: 'schedule-not-locked-by-hand',
    breaks: 'runs of a schedule do not overlap: a run by hand does not see the one that is being started',
    edits: [{ file: store, from: 'where s.name = $1\n   for update`', to: 'where s.name = $1`' }],
    caughtBy: {
      file: oneRun,
      test: 'a person who asks for a run waits for the one that is being started, and is refused',
    },
  },
  {
    name: 'tick-apart-from-its-run',
    breaks: 'a tick and its run commit together: the job is enqueued in a transaction of its own',
    edits: [
      {
        file: 'src/sluice.ts',
        from: '? this.jobs.enqueue(definition, args as never, { tx })',
        to: '? this.jobs.enqueue(definition, args as never)',
      },
    ],
    caughtBy: { file: oneRun, test: 'a run and the row of its tick commit in one transaction' },
  },
  {
    name: 'schedule-overlaps',
    breaks:
      'with overlap "skip" or "queue" a schedule has one run at a time: nothing stands in the way of the next one',
    edits: [
      {
        file: 'src/patterns/schedules/settle.ts',
        from: 'return isBlocking(policy, last, row.now) ? run : undefined',
        to: 'return isBlocking(policy, last, row.now) ? undefined : undefined',
      },
    ],
    caughtBy: { file: oneRun, test: 'with overlap "skip", a tick during a run is passed over' },
  },
  {
    name: 'schedule-queue-skips',
    breaks: 'with overlap "queue" a tick waits for the run before it: it is passed over',
    edits: [
      {
        file: 'src/patterns/schedules/settle.ts',
        from: "if (definition.overlap === 'queue') return 'blocked'",
        to: '',
      },
    ],
    caughtBy: { file: oneRun, test: 'with overlap "queue", a tick during a run waits' },
  },
  {
    name: 'schedule-goes-back',
    breaks: 'ticks up to a moment are settled: a late worker sets that moment back',
    edits: [
      {
        file: store,
        from: 'set considered_to = greatest(considered_to, $2::timestamptz)\n   where name = $1',
        to: 'set considered_to = $2::timestamptz\n   where name = $1',
      },
    ],
    caughtBy: { file: oneRun, test: 'the moment up to which a schedule is settled never goes back' },
  },
  {
    name: 'schedule-disabled-ticks',
    breaks: 'a disabled schedule starts nothing: a worker settles its ticks all the same',
    edits: [{ file: store, from: 'and s.enabled\n   for update skip locked', to: '\n   for update skip locked' }],
    caughtBy: { file: oneRun, test: 'a worker settles no tick of a schedule that is disabled in the database' },
  },
  {
    name: 'schedule-rule-not-compared',
    breaks: 'ticks follow one rule: a worker with an old rule settles ticks that the schedule does not have',
    edits: [
      {
        file: store,
        from: 'where s.name = $1 and s.rule = $2 and s.zone = $3 and s.enabled',
        to: 'where s.name = $1 and $2::text is not null and s.zone = $3 and s.enabled',
      },
    ],
    caughtBy: { file: oneRun, test: 'a worker settles no tick of a schedule that has another rule in the database' },
  },
  {
    name: 'schedule-of-a-year',
    breaks: 'a pattern with a field for years is refused in clear words: it is taken',
    edits: [{ file: 'src/patterns/schedules/define.ts', from: '\\S+(\\s+\\S+){4,5}', to: '\\S+(\\s+\\S+){4,6}' }],
    caughtBy: { file: 'test/patterns/schedules/define.test.ts', test: 'with a field for years' },
  },
]
