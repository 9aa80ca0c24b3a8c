import type { OfferedRow } from '../../store/sweep-claims.ts'

/** A worker may die for other reasons. What so many have died on is worked on alone. */
const suspectCrashes = 2
/** And after so many deaths not at all. */
const poisonCrashes = 5

/**
 * Rows with all deaths over them, that of the worker who has it now included. After an outage of the database that is
 * not counted: all were silent meanwhile, and who comes back first would take the others for dead.
 */
export function withDeaths(offered: readonly OfferedRow[], { outage }: { outage: boolean }): OfferedRow[] {
  return offered.map((row) => (outage || row.worker_id === null ? row : { ...row, crashes: row.crashes + 1 }))
}

/** Which of the rows that are offered to take: those that are above suspicion, else one suspect alone. */
export function chooseOffered(offered: readonly OfferedRow[]): { calm: OfferedRow[]; poison: OfferedRow[] } {
  const poison = offered.filter(({ crashes }) => crashes >= poisonCrashes)
  const calm = offered.filter(({ crashes }) => crashes < suspectCrashes)
  const suspect = offered.find(({ crashes }) => crashes >= suspectCrashes && crashes < poisonCrashes)
  return { calm: calm.length > 0 || suspect === undefined ? calm : [suspect], poison }
}
