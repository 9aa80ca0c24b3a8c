import type { Mutant } from './mutant.ts'
import { batches } from './patterns/batches.ts'
import { commandLine } from './patterns/command-line.ts'
import { inbox } from './patterns/inbox.ts'
import { machines } from './patterns/machines.ts'
import { reports } from './patterns/reports.ts'
import { schedules } from './patterns/schedules.ts'
import { sweepBounds } from './patterns/sweep-bounds.ts'
import { sweeps } from './patterns/sweeps.ts'

/** Guards of the patterns around the work, of the audit, of alerts and of the command line. */
export const patterns: readonly Mutant[] = [
  ...batches,
  ...schedules,
  ...sweeps,
  ...sweepBounds,
  ...inbox,
  ...machines,
  ...reports,
  ...commandLine,
]
