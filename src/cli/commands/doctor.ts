import type { Command } from 'commander'
import { relative } from 'node:path'
import { redact, SluiceError, type Finding } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { plural } from '../figures.ts'
import { findingLines } from '../findings.ts'
import { tellAlerts } from '../alerts.ts'
import { withSluice, type Session } from '../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../shell.ts'

interface DoctorOptions extends GlobalOptions {
  alerts?: boolean
}

export const addDoctor: CommandAdder = (parent, shell) => {
  parent
    .command('doctor')
    .description('look at everything that commonly goes wrong; exits with 4 when there is a problem')
    .option('--alerts', 'look at the alerts instead; exits with 4 when one fires')
    .action((_: unknown, command: Command) => {
      const options = command.optsWithGlobals<DoctorOptions>()
      return options.alerts === true ? tellAlerts(shell, options) : doctor(shell, options)
    })
}

async function doctor(shell: Shell, options: GlobalOptions): Promise<void> {
  await withSluice(shell, { options }, async (session) => {
    const surroundings = [configFinding(shell, session), databaseFinding(shell, session)]
    try {
      tell(shell, [...surroundings, ...(await session.sluice.doctor())])
    } catch (error) {
      if (!(error instanceof SluiceError && /^DATABASE_(UNREACHABLE|REFUSED)$/.test(error.code))) throw error
      tell(shell, [...surroundings, unreachableFinding(error)])
      process.exitCode = exitCodes.unreachable
    }
  })
}

function configFinding({ folder }: Shell, { file }: Session): Finding {
  const found = file === undefined ? 'none here; workers need one, "sluice init" writes it' : relative(folder, file)
  return { check: 'config file', level: 'ok', found }
}

function databaseFinding({ folder }: Shell, { choice }: Session): Finding {
  if (choice.from === 'embedded') {
    return { check: 'database', level: 'ok', found: `the embedded PostgreSQL in ${relative(folder, choice.dataDir)}` }
  }
  const found = choice.url === undefined ? 'the PG* variables' : `${choice.name}: ${redact(choice.url)}`
  return { check: 'database', level: 'ok', found: `from ${found}` }
}

function unreachableFinding({ details: { reason, remedy }, message }: SluiceError): Finding {
  return {
    check: 'reachability',
    level: 'problem',
    found: typeof reason === 'string' && reason !== '' ? reason : message,
    remedy:
      typeof remedy === 'string'
        ? remedy
        : 'Check that the server runs, that this machine may connect to it, and host and port.',
  }
}

function tell({ output }: Shell, findings: readonly Finding[]): void {
  const numberOf = (level: Finding['level']): number => findings.filter((finding) => finding.level === level).length
  const [problems, warnings] = [numberOf('problem'), numberOf('warning')]
  if (problems > 0) process.exitCode = exitCodes.checkFailed
  if (output.json)
    return output.record({ problems, warnings, findings: findings.map((f) => ({ ...f, found: redact(f.found) })) })
  for (const line of findingLines(findings)) output.data(...line)
  output.note(
    problems + warnings === 0 ? 'All is well.' : `${plural(problems, 'problem')}, ${plural(warnings, 'warning')}.`,
  )
}
