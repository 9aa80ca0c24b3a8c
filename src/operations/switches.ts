import { audited } from '../store/audit.ts'
import type { Database } from '../store/database.ts'
import { refuseStale, type Seen, type Switch } from '../store/expected.ts'
import * as lifecycle from '../store/lifecycle.ts'
import type { Telemetry } from '../telemetry/telemetry.ts'

/** What it takes to throw a switch. */
export interface Switching {
  database: Database
  telemetry: Telemetry
}

/** Stops every run of a definition. */
export async function disable(
  { database, telemetry }: Switching,
  { name, options }: { name: string; options: Seen<Switch> },
): Promise<void> {
  const about = { name, reason: options.reason ?? null, actor: options.actor ?? null }
  await audited(database, options, async (tx) => {
    const [result] = await lifecycle.disable(tx, about)
    const enabled = result?.again !== true
    refuseStale(`"${name}"`, enabled ? 'enabled' : 'disabled', options)
    return {
      result,
      act: { action: 'operation.disable', target: name, before: { enabled }, after: { enabled: false } },
    }
  })
  telemetry.emit('operation.disabled', about)
}

/** Lets a definition run again. */
export async function enable(
  { database, telemetry }: Switching,
  { name, options }: { name: string; options: Seen<Switch> },
): Promise<void> {
  await audited(database, options, async (tx) => {
    const [result] = await lifecycle.enable(tx, { name })
    refuseStale(`"${name}"`, result === undefined ? 'enabled' : 'disabled', options)
    const act = { action: 'operation.enable', target: name, before: { enabled: false }, after: { enabled: true } }
    return { result, act: result && act }
  })
  telemetry.emit('operation.enabled', { name, actor: options.actor ?? null })
}
