import { Sql } from 'sql-template-tag'
import { SluiceError } from '../../errors.ts'
import { parseDuration } from '../../std/duration.ts'
import { quoted } from '../../std/storable.ts'
import { didYouMean } from '../../std/suggest.ts'
import type { SweepSpec } from './definition.ts'

type AnySpec = SweepSpec<Record<string, unknown>>
type Refuse = (problem: string) => never

const options = [
  'name',
  'table',
  'key',
  'due',
  'order',
  'claim',
  'effect',
  'finalise',
  'releases',
  'version',
  'batch',
  'concurrency',
  'timeout',
  'attempts',
  'breaker',
  'interval',
  'window',
]

/** Refuses a definition that cannot work, where it is written. */
export function checkSweep(spec: AnySpec): void {
  const name = typeof spec.name === 'string' ? spec.name : ''
  const refuse: Refuse = (problem) => {
    throw new SluiceError('DEFINITION_INVALID', {
      message: `The sweep ${quoted(name)} cannot be defined: ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
      details: { name, problem },
    })
  }
  if (!/^[A-Za-z][A-Za-z0-9._-]{0,99}$/.test(name)) {
    refuse('its name must start with a letter and have up to 100 letters, digits, ".", "_" or "-"')
  }
  checkKeys(spec, options, '', refuse)
  if (!isWord(spec.table)) refuse('"table" must be the name of a table')
  if (!isColumns(spec.key)) refuse('"key" must be a column, or a list of columns')
  if (spec.order !== undefined && !isColumns(spec.order)) refuse('"order" must be a column, or a list of columns')
  if (!(spec.due instanceof Sql)) refuse('"due" must be a condition in SQL, such as sql`expires_at < now()`')
  for (const option of ['effect', 'version'] as const) {
    if (spec[option] !== undefined && typeof spec[option] !== 'function') refuse(`"${option}" must be a function`)
  }
  checkClaim(spec, refuse)
  checkFinalise(spec, refuse)
  checkReleases(spec, refuse)
  checkFigures(spec, refuse)
}

function checkClaim({ claim }: AnySpec, refuse: Refuse): void {
  if (claim === 'table') return
  if (typeof claim !== 'object' || claim === null) refuse(`"claim" must be 'table', or { columns, from, to }`)
  checkKeys(claim, ['columns', 'from', 'to'], 'claim.', refuse)
  if (typeof claim.columns !== 'object' || claim.columns === null) refuse('"claim.columns" must name columns')
  checkKeys(claim.columns, ['status', 'nonce', 'claimedAt', 'worker'], 'claim.columns.', refuse)
  const { status, nonce, ...others } = claim.columns
  if (!isWord(status) || !isWord(nonce)) refuse('"claim.columns" must name a column for "status" and one for "nonce"')
  const named = [status, nonce, ...Object.values(others).filter((column) => column !== undefined)]
  if (!named.every(isWord) || new Set(named).size < named.length) refuse('"claim.columns" must name different columns')
  if (!isWord(claim.from) || !isWord(claim.to) || claim.from === claim.to) {
    refuse('"claim.from" and "claim.to" must be two different words of the status')
  }
}

function checkFinalise({ finalise, claim }: AnySpec, refuse: Refuse): void {
  if (finalise === undefined || finalise === 'delete') return
  if (typeof finalise !== 'object' || finalise === null) refuse(`"finalise" must be 'delete', or { set: { … } }`)
  checkKeys(finalise, ['set'], 'finalise.', refuse)
  if (typeof finalise.set !== 'object' || finalise.set === null || Object.keys(finalise.set).length === 0) {
    refuse('"finalise.set" must name columns with their values')
  }
  if (claim === 'table') return
  const status = (finalise.set as Record<string, unknown>)[claim.columns.status]
  if (status === undefined || status === claim.from || status === claim.to) {
    refuse(`"finalise.set" must give "${claim.columns.status}" a word of its own, or the row would be claimed again`)
  }
}

function checkReleases({ releases }: AnySpec, refuse: Refuse): void {
  if (releases === undefined) return
  if (typeof releases !== 'object' || releases === null) refuse('"releases" must be { table, key, count, by }')
  checkKeys(releases, ['table', 'key', 'count', 'by'], 'releases.', refuse)
  for (const part of ['table', 'key', 'count', 'by'] as const) {
    if (!isWord(releases[part])) refuse(`"releases.${part}" must be a name`)
  }
}

function checkFigures(spec: AnySpec, refuse: Refuse): void {
  if (spec.breaker !== undefined) checkKeys(spec.breaker, ['failures', 'for'], 'breaker.', refuse)
  for (const [option, value, most] of [
    ['batch', spec.batch, 10_000],
    ['concurrency', spec.concurrency, 1_000],
    ['attempts', spec.attempts, 1_000],
    ['breaker.failures', spec.breaker?.failures, 1_000],
  ] as const) {
    if (value === undefined || (Number.isSafeInteger(value) && value > 0 && value <= most)) continue
    refuse(`"${option}" must be a whole number from 1 to ${most}`)
  }
  for (const [option, value] of [
    ['timeout', spec.timeout],
    ['breaker.for', spec.breaker?.for],
    ['interval', spec.interval],
  ] as const) {
    const ms = value === undefined ? 1 : parseDuration(value)
    if (ms === undefined || ms < 1 || ms > 86_400_000) {
      refuse(`"${option}" must be a time of up to a day, such as "30s" or "5m"`)
    }
  }
}

function checkKeys(given: object, known: readonly string[], room: string, refuse: Refuse): void {
  for (const key of Object.keys(given)) {
    if (!known.includes(key)) refuse(`there is no option "${room}${key}".${didYouMean(key, known)}`)
  }
}

const isWord = (value: unknown): value is string => typeof value === 'string' && value !== ''

const isColumns = (value: unknown): boolean =>
  isWord(value) || (Array.isArray(value) && value.length > 0 && value.every(isWord))
