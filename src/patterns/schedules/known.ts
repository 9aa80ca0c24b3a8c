import type { JobDefinition } from '../../jobs/definition.ts'
import type { OperationDefinition } from '../../operations/definition.ts'
import type { ScheduleDefinition } from './define.ts'

/** What a process is told to know. */
interface Listed {
  operations?: readonly OperationDefinition[]
  jobs?: readonly JobDefinition[]
  schedules?: readonly ScheduleDefinition[]
  redact?: readonly string[]
}

/** A process that keeps a schedule knows what it starts. What is secret everywhere is secret in each definition. */
export function knownOf({ operations = [], jobs = [], schedules = [], redact = [] }: Listed): {
  operations: readonly OperationDefinition[]
  jobs: readonly JobDefinition[]
  schedules: readonly ScheduleDefinition[]
} {
  const targets = schedules.map(({ target }) => target)
  const scheduledJobs = targets.flatMap((target) => (target.kind === 'job' ? [target.definition] : []))
  const scheduledOperations = targets.flatMap((target) => (target.kind === 'operation' ? [target.definition] : []))
  return {
    operations: discreet([...operations, ...unlisted(operations, scheduledOperations)], redact),
    jobs: discreet([...jobs, ...unlisted(jobs, scheduledJobs)], redact),
    schedules,
  }
}

function discreet<T extends { redact: readonly string[] }>(
  definitions: readonly T[],
  paths: readonly string[],
): readonly T[] {
  return paths.length === 0 ? definitions : definitions.map((one) => ({ ...one, redact: [...paths, ...one.redact] }))
}

function unlisted<T extends { name: string }>(listed: readonly T[], wanted: readonly T[]): T[] {
  const byName = new Map(wanted.map((one) => [one.name, one]))
  for (const { name } of listed) byName.delete(name)
  return [...byName.values()]
}
