import { Command } from 'commander'
import { redact, version } from '../index.ts'
import { addGlobalOptions, type CommandAdder, type Shell } from './shell.ts'

/**
 * The commands in the order of the help: as a newcomer needs them. Each is loaded when it is wanted: most of the time
 * of a short command is the loading of modules.
 */
const commands: Readonly<Record<string, () => Promise<CommandAdder>>> = {
  demo: async () => (await import('./commands/demo.ts')).addDemo,
  init: async () => (await import('./commands/init.ts')).addInit,
  dev: async () => (await import('./commands/dev.ts')).addDev,
  migrate: async () => (await import('./commands/migrate.ts')).addMigrate,
  worker: async () => (await import('./commands/worker.ts')).addWorker,
  dashboard: async () => (await import('./commands/dashboard.ts')).addDashboard,
  ops: async () => (await import('./commands/ops.ts')).addOps,
  jobs: async () => (await import('./commands/jobs.ts')).addJobs,
  queues: async () => (await import('./commands/queues.ts')).addQueues,
  schedules: async () => (await import('./commands/schedules.ts')).addSchedules,
  machines: async () => (await import('./commands/machines.ts')).addMachines,
  reconcilers: async () => (await import('./commands/reconcilers.ts')).addReconcilers,
  inbox: async () => (await import('./commands/inbox.ts')).addInbox,
  batches: async () => (await import('./commands/batches.ts')).addBatches,
  sweeps: async () => (await import('./commands/sweeps.ts')).addSweeps,
  workers: async () => (await import('./commands/workers.ts')).addWorkers,
  tenants: async () => (await import('./commands/tenants.ts')).addTenants,
  audit: async () => (await import('./commands/audit.ts')).addAudit,
  simulate: async () => (await import('./commands/simulate.ts')).addSimulate,
  doctor: async () => (await import('./commands/doctor.ts')).addDoctor,
  grants: async () => (await import('./commands/grants.ts')).addGrants,
}

/** The command line as commander sees it: the command that the words begin with, or all, for help and for typos. */
export async function createProgram(shell: Shell, words: readonly string[] = []): Promise<Command> {
  const program = new Command('sluice')
    .description('Changes millions of rows in a production PostgreSQL while production keeps breathing.')
    .version(version, '-v, --version', 'print the version')
    .helpOption('-h, --help', 'print help for a command')
    .helpCommand('help [command]', 'print help for a command')
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeOut: (text) => void shell.output.stdout.write(text),
      writeErr: (text) => void shell.output.stderr.write(text),
      // In JSON the error is told once, by the one who reports failures.
      outputError: (text, write) => (shell.output.json ? undefined : write(redact(`${text}${wayOut(text)}`))),
    })
  addGlobalOptions(program)
  const wanted = Object.entries(commands).filter(([name]) => name === words[0])
  const enough = wanted.length > 0 || words[0] === '--version' || words[0] === '-v'
  for (const [, load] of enough ? wanted : Object.entries(commands)) (await load())(program, shell)
  return program.addHelpText('after', '\nStart with "sluice demo": it needs no server and takes a few seconds.')
}

/** What was typed, as commander reads it: `help ops start` and `ops help start` are `ops start --help`. */
export function typed(args: readonly string[]): readonly string[] {
  const [first, second] = args
  if (first === undefined) return ['--help']
  if (first === 'help') return [...args.slice(1), '--help']
  return second === 'help' && first in commands ? [first, ...args.slice(2), '--help'] : args
}

/** Who has named a command that is not there wants to see those that are. */
const wayOut = (error: string): string => (error.includes('unknown command') ? 'Add --help to see the commands.\n' : '')
