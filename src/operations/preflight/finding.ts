import { SluiceError } from '../../errors.ts'
import type { PlanFinding } from '../../targets/findings.ts'

const order: readonly PlanFinding['severity'][] = ['refuse', 'warn', 'note']

/** The gravest first. */
export function bySeverity(findings: readonly PlanFinding[]): PlanFinding[] {
  return findings.toSorted((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
}

/** Those for which a start is refused. */
export function refusals(findings: readonly PlanFinding[]): PlanFinding[] {
  return findings.filter(({ severity }) => severity === 'refuse')
}

/** Ends a start that would harm the database. */
export function throwRefusal(name: string, findings: readonly PlanFinding[]): void {
  const [first, ...others] = refusals(findings)
  if (first === undefined) return
  const more = others.map(({ what }) => ` Also: ${what}.`).join('')
  throw new SluiceError(first.code ?? 'PLAN_SCANS', {
    message: `"${name}" was not started: ${first.what}. ${first.why}. ${first.remedy}${first.remedy.endsWith(';') ? '' : '.'}${more} With "force" it starts all the same.`,
    details: { name, findings: refusals(findings) },
  })
}

/** With this begins what is kept of a start that was forced. */
export const byForce = 'started by force, although '

/** What is kept of a start that was forced; null: nothing had to be forced. */
export function forcedReason(findings: readonly PlanFinding[]): string | null {
  const forced = refusals(findings)
  return forced.length === 0 ? null : `${byForce}${forced.map(({ what }) => what).join('; ')}`
}
