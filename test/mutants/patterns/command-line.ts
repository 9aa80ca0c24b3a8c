import type { Mutant } from '../mutant.ts'

const program = 'src/cli/program.ts'
const left = 'src/cli/follow-to-end.ts'
const leaving = (test: string): Mutant['caughtBy'] => ({ file: 'test/cli/leaving.test.ts', test })
const usage = (test: string): Mutant['caughtBy'] => ({ file: 'test/cli/usage.test.ts', test })
const help = usage('each command prints its help with -h, --help and after the word help')

/** What people at the keyboard, and those who read the log, are told. */
export const commandLine: readonly Mutant[] = [
  {
    name: 'left-without-a-word',
    breaks: 'whoever leaves with Ctrl-C hears that only the watching has ended, and how to find it again',
    edits: [{ file: left, from: '      tellLeft(output, last)\n', to: '' }],
    caughtBy: leaving('Ctrl-C in ops start says that the operation is not over, and how to find it again'),
  },
  {
    name: 'left-as-if-it-stood-still',
    breaks: 'whoever leaves hears whether it goes on: what workers are at is told as if it waited',
    edits: [{ file: left, from: 'isStopped(status) ? `${name} is not over.`', to: 'status ? `${name} is not over.`' }],
    caughtBy: leaving('Ctrl-C while workers are at it says that the operation goes on'),
  },
  {
    name: 'nobody-there-not-told',
    breaks: 'start and watch say that nobody works on it: a person waits for what cannot happen',
    edits: [{ file: 'src/cli/nobody.ts', from: 'if (!parked) return', to: 'if (!parked || name) return' }],
    caughtBy: leaving('start and watch say that nobody works on it, and what to run'),
  },
  {
    name: 'unknown-to-workers-not-told',
    breaks: 'start and watch say what to run: a worker that does not know the operation is taken for none',
    edits: [
      {
        file: 'src/cli/nobody.ts',
        from: 'some(({ seen_ms }) => seen_ms <= silentMs)',
        to: 'some(() => silentMs === 0)',
      },
    ],
    caughtBy: leaving('start and watch say that nobody works on it, and what to run'),
  },
  {
    name: 'wrong-password-unreachable',
    breaks: 'a wrong password is told as such: the database is said to be out of reach',
    edits: [
      {
        file: 'src/store/sqlstate.ts',
        from: "  if (state.startsWith('28')) return 'Check user and password in the connection settings.'\n",
        to: '',
      },
    ],
    caughtBy: leaving('a wrong password is told as such'),
  },
  {
    name: 'help-not-by-a-letter',
    breaks: 'help comes with -h, --help and help: -h is an option that there is not',
    edits: [{ file: program, from: "helpOption('-h, --help'", to: "helpOption('--help'" }],
    caughtBy: help,
  },
  {
    name: 'help-not-by-a-word',
    breaks: 'help comes with -h, --help and help: of the words behind "help" only the first is read',
    edits: [{ file: program, from: "if (first === 'help') return [...args.slice(1), '--help']", to: '' }],
    caughtBy: help,
  },
  {
    name: 'release-not-by-a-letter',
    breaks: 'the release is printed with -v and --version: -v is an option that there is not',
    edits: [{ file: program, from: "version(version, '-v, --version'", to: "version(version, '--version'" }],
    caughtBy: usage('sluice ["-v"] prints the release'),
  },
  {
    name: 'dead-jobs-not-discarded',
    breaks: 'the command line discards what the dashboard does: it does not take dead jobs',
    edits: [{ file: 'src/jobs/bulk.ts', from: "'blocked', 'dead', 'quarantined']", to: "'blocked', 'quarantined']" }],
    caughtBy: {
      file: 'test/cli/jobs.test.ts',
      test: 'discard --all --state dead marks dead jobs, as the dashboard does',
    },
  },
  {
    name: 'outage-in-every-line',
    breaks: 'an outage is a few lines of the log: each try that fails is one',
    edits: [
      {
        file: 'src/telemetry/log.ts',
        from: 'repeats.pass(event, performance.now())',
        to: 'repeats.pass(event, performance.now()) ?? 0',
      },
    ],
    caughtBy: {
      file: 'test/telemetry/outage.test.ts',
      test: 'of a database that is away the log of a worker has a line for each purpose, not for each try',
    },
  },
]
