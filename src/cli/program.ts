import { Command } from 'commander'
import { redact, version } from '../index.ts'
import { addAudit } from './commands/audit.ts'
import { addBatches } from './commands/batches.ts'
import { addDashboard } from './commands/dashboard.ts'
import { addDemo } from './commands/demo.ts'
import { addDev } from './commands/dev.ts'
import { addDoctor } from './commands/doctor.ts'
import { addGrants } from './commands/grants.ts'
import { addInbox } from './commands/inbox.ts'
import { addInit } from './commands/init.ts'
import { addJobs } from './commands/jobs.ts'
import { addMachines } from './commands/machines.ts'
import { addMigrate } from './commands/migrate.ts'
import { addOps } from './commands/ops.ts'
import { addQueues } from './commands/queues.ts'
import { addSchedules } from './commands/schedules.ts'
import { addReconcilers } from './commands/reconcilers.ts'
import { addSweeps } from './commands/sweeps.ts'
import { addTenants } from './commands/tenants.ts'
import { addWorker } from './commands/worker.ts'
import { addWorkers } from './commands/workers.ts'
import { addGlobalOptions, type CommandAdder, type Shell } from './shell.ts'

/** The commands in the order of the help: as a newcomer needs them. */
const commands: readonly CommandAdder[] = [
  addDemo,
  addInit,
  addDev,
  addMigrate,
  addWorker,
  addDashboard,
  addOps,
  addJobs,
  addQueues,
  addSchedules,
  addMachines,
  addReconcilers,
  addInbox,
  addBatches,
  addSweeps,
  addWorkers,
  addTenants,
  addAudit,
  addDoctor,
  addGrants,
]

/** The whole command line as commander sees it. */
export function createProgram(shell: Shell): Command {
  const program = new Command('sluice')
    .description('Changes millions of rows in a production PostgreSQL while production keeps breathing.')
    .version(version, '--version', 'print the version')
    .helpOption('--help', 'print help for a command')
    .helpCommand(false)
    .exitOverride()
    .configureHelp({ showGlobalOptions: true })
    .configureOutput({
      writeErr: (text) => void shell.output.stderr.write(text),
      // In JSON the error is told once, by the one who reports failures.
      outputError: (text, write) => (shell.output.json ? undefined : write(redact(text))),
    })
  addGlobalOptions(program)
  for (const add of commands) add(program, shell)
  return program.addHelpText('after', '\nStart with "sluice demo": it needs no server and takes a few seconds.')
}
