import type { ResolvedConfig } from './config/resolve.ts'
import type { InboxDefinition } from './patterns/inbox/define.ts'
import type { JobRegistry } from './jobs/definition.ts'
import type { MachineDefinition } from './patterns/machines/definition.ts'
import type { OperationRegistry } from './operations/definition.ts'
import type { ReconcilerDefinition, ReconcilerRegistry } from './patterns/reconcilers/define.ts'
import { Registry } from './runtime/registry.ts'
import type { ScheduleRegistry } from './patterns/schedules/define.ts'
import type { SweepRegistry } from './patterns/sweeps/definition.ts'

/** All that a process knows, by name. */
export interface Known {
  operations: OperationRegistry
  jobs: JobRegistry
  schedules: ScheduleRegistry
  machines: Registry<MachineDefinition>
  reconcilers: ReconcilerRegistry
  inboxes: Registry<InboxDefinition>
  sweeps: SweepRegistry
}

/** What the configuration names; jobs come from more than that. */
export function knownBy(config: ResolvedConfig): Omit<Known, 'jobs'> {
  const nets = config.machines.map(({ reconciler }) => reconciler)
  return {
    operations: new Registry('operation', config.operations),
    schedules: new Registry('schedule', config.schedules),
    machines: new Registry<MachineDefinition>('machine', config.machines),
    reconcilers: new Registry<ReconcilerDefinition>('reconciler', [...config.reconcilers, ...nets]),
    inboxes: new Registry('inbox', config.inboxes),
    sweeps: new Registry('sweep', config.sweeps),
  }
}
