import type { ScheduleStatus } from '../../index.ts'
import { moment } from '../figures.ts'
import type { Shell } from '../shell.ts'

/** Where a change has left a schedule. */
export function tellSchedule({ output }: Shell, schedule: ScheduleStatus): void {
  if (output.json) return output.record({ schedule })
  const { name, enabled, nextAt } = schedule
  if (!enabled) {
    output.data(['yellow', '!'], ` ${name} is disabled: its ticks start nothing`)
    return output.note(`Let it go on with: sluice schedules enable ${name}`)
  }
  output.data(
    ['green', '✓'],
    ` ${name} is enabled${nextAt === null ? '' : `: its next run is due at ${moment(nextAt)}`}`,
  )
}
