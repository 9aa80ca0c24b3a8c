import { serveDashboard } from '../../dashboard/index.ts'
import type { Sluice } from '../../index.ts'
import type { Shell } from '../shell.ts'

/** What was said about the dashboard on the command line. */
export interface DashboardChoices {
  port: number
  host: string
  readOnly?: boolean
  environment?: string
}

/** Serves the dashboard until a signal comes. Its address goes to stdout, as it is the answer. */
export async function openDashboard(shell: Shell, sluice: Sluice, choices: DashboardChoices): Promise<never> {
  const { output, signal } = shell
  const { port, host, readOnly = false, environment } = choices
  await using dashboard = await serveDashboard(sluice, {
    port,
    host,
    readOnly,
    ...(environment === undefined ? {} : { environment }),
  })
  if (output.json) output.record({ url: dashboard.url })
  else output.data(dashboard.url)
  output.note('Open this address: it lets in the first browser that does, and no other. Ctrl-C ends the dashboard.')
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
  throw signal.reason
}
