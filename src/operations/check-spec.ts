import { SluiceError } from '../errors.ts'
import { problemOfPaths } from '../std/mask.ts'
import { didYouMean } from '../std/suggest.ts'
import type { AnySpec } from './definition.ts'
import { checkVacuum } from './vacuum.ts'

/** Refuses a definition that cannot work, before anything is stored. */
export function checkSpec(spec: AnySpec, further: readonly string[]): void {
  const options = [...known, ...further]
  const name = typeof spec.name === 'string' ? spec.name : ''
  const refuse = (problem: string): never => {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The operation "${name}" cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
      details: { name, problem },
    })
  }
  if (!/^[a-z][a-z0-9._-]{0,99}$/i.test(name)) {
    refuse('its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"')
  }
  for (const key of Object.keys(spec)) {
    if (!options.includes(key)) refuse(`there is no option "${key}".${didYouMean(key, options)}`)
  }
  if (!isText(spec.table)) refuse('"table" must be the name of a table')
  if (spec.cursor !== undefined && !isCursor(spec.cursor))
    refuse('"cursor" must list one or more different column names')
  if (typeof spec.perform !== 'function') refuse('"perform" must be a function')
  if (spec.scope !== undefined && typeof spec.scope !== 'function') refuse('"scope" must be a function')
  for (const key of ['batchSize', 'subBatchSize', 'lanes', 'quarantineLimit'] as const) {
    const value = spec[key]
    if (value === undefined || (key === 'lanes' && value === 'auto')) continue
    if (!(Number.isSafeInteger(value) && Number(value) > 0 && Number(value) <= 10_000_000)) {
      refuse(`"${key}" must be a whole number from 1 to 10,000,000`)
    }
  }
  checkVacuum(spec.vacuum, refuse)
  const path = problemOfPaths(spec.redact ?? [])
  if (path !== undefined) refuse(`"redact" ${path}`)
  for (const [key, words] of Object.entries(choices)) {
    const value = spec[key as keyof typeof choices]
    if (value !== undefined && !words.includes(value)) refuse(`"${key}" must be ${words.join(' or ')}`)
  }
}

const choices: Record<
  'priority' | 'conflicts' | 'until' | 'recur' | 'effects' | 'reads' | 'verify' | 'approval',
  unknown[]
> = {
  priority: ['low', 'normal', 'high'],
  conflicts: ['table', 'none'],
  until: ['end', 'empty'],
  recur: ['restart', 'continue'],
  effects: ['database', 'external'],
  reads: ['primary', 'replica'],
  verify: [true, false],
  approval: [true, false],
}

const known: readonly string[] = ['name', 'table', 'cursor', 'scope', 'perform', 'args', 'effects', 'window', 'vacuum']

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '' && !value.includes('\0')
}

function isCursor(value: readonly string[]): boolean {
  return Array.isArray(value) && value.length > 0 && value.every(isText) && new Set(value).size === value.length
}
