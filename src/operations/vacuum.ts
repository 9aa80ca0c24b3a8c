import type { VacuumOptions } from '../governor/vacuum-care.ts'
import { didYouMean } from '../std/suggest.ts'

const known = ['deadRows', 'every', 'truncate']

/** Refuses what cannot be said about vacuum. */
export function checkVacuum(vacuum: VacuumOptions | undefined, refuse: (problem: string) => never): void {
  if (vacuum === undefined) return
  if (typeof vacuum !== 'object' || vacuum === null) return refuse('"vacuum" must be an object')
  const stray = Object.keys(vacuum).find((key) => !known.includes(key))
  if (stray !== undefined) refuse(`there is no option "vacuum.${stray}".${didYouMean(stray, known)}`)
  const { deadRows, every, truncate } = vacuum
  if (deadRows !== undefined && !(deadRows > 0 && deadRows <= 1)) refuse('"vacuum.deadRows" must be a share above 0')
  if (every !== undefined && !(Number.isSafeInteger(every) && every >= 1_000)) {
    refuse('"vacuum.every" must be a whole number of rows from 1,000')
  }
  if (truncate !== undefined && typeof truncate !== 'boolean') refuse('"vacuum.truncate" must be true or false')
}
