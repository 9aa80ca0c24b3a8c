import { SluiceError } from '../errors.ts'
import { quoted } from '../std/storable.ts'
import { isZone } from '../std/zone.ts'
import type { AgeLimit } from '../targets/changes.ts'
import type { OperationSpec } from './definition.ts'

/** What all presets take: the options of an operation that the preset does not decide itself. */
export interface PresetSpec extends Pick<
  OperationSpec<undefined>,
  | 'name'
  | 'table'
  | 'cursor'
  | 'batchSize'
  | 'subBatchSize'
  | 'lanes'
  | 'priority'
  | 'conflicts'
  | 'verify'
  | 'reads'
  | 'quarantineLimit'
  | 'approval'
  | 'window'
  | 'vacuum'
> {}

/** Which preset is about to be defined, for messages. */
export interface Preset {
  kind: 'expiry' | 'backfill' | 'anonymisation'
  name: string
}

/** Refuses an age limit that cannot be one. */
export function checkAge(
  preset: Preset,
  given: { olderThan: unknown; by: unknown; zone?: unknown },
): asserts given is AgeLimit {
  const { olderThan, by, zone } = given
  if (!ages.test(String(olderThan))) {
    refuse(preset, `"olderThan" must be an age such as "90 days", not "${String(olderThan)}"`, { olderThan })
  }
  if (!isColumn(by)) refuse(preset, '"by" must name the column that holds the age of a row', { by })
  if (zone !== undefined && !isZone(zone)) {
    refuse(preset, `"zone" must be a time zone such as "UTC" or "Europe/Berlin", not ${quoted(zone)}`, { zone })
  }
}

const ages = /^\d+(\.\d+)? (second|minute|hour|day|week|month|year)s?$/

/** True for a text that can be the name of a column. */
export function isColumn(name: unknown): boolean {
  return typeof name === 'string' && name !== '' && !name.includes('\0')
}

/** Says what is wrong with a definition. */
export function refuse({ kind, name }: Preset, problem: string, details: Record<string, unknown> = {}): never {
  throw new SluiceError('DEFINITION_INVALID', {
    message: `The ${kind} "${name}" cannot be defined: ${problem}.`,
    details: { name, ...details },
  })
}
