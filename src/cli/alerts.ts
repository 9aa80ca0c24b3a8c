import { ago, plural } from './figures.ts'
import { exitCodes } from './exit-codes.ts'
import { withSluice } from './session.ts'
import type { GlobalOptions, Shell } from './shell.ts'

/** The alerts that fire, after a look at what is so now. */
export async function tellAlerts(shell: Shell, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const alerts = await sluice.alerts.check()
    if (alerts.length > 0) process.exitCode = exitCodes.checkFailed
    if (output.json) return output.record({ alerts })
    for (const { severity, rule, message, since } of alerts) {
      const mark = severity === 'critical' ? (['red', '✗'] as const) : (['yellow', '!'] as const)
      output.data(mark, ` ${message} `, ['dim', `(${rule}, ${ago(Date.now() - since.getTime())})`])
    }
    output.note(alerts.length === 0 ? 'No alert fires.' : `${plural(alerts.length, 'alert')}.`)
  })
}
