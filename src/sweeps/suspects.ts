import type { OfferedRow } from '../store/sweep-claims.ts'

/** A worker may die for other reasons. What so many have died on is worked on alone. */
const suspectCrashes = 2
/** And after so many deaths not at all. */
const poisonCrashes = 5

/** Deaths so far, with that of the worker who has it. */
const deaths = ({ crashes, worker_id }: OfferedRow): number => crashes + (worker_id === null ? 0 : 1)

/** Which of the rows that are offered to take: those that are above suspicion, else one suspect alone. */
export function chooseOffered(offered: readonly OfferedRow[]): { calm: OfferedRow[]; poison: OfferedRow[] } {
  const poison = offered.filter((row) => deaths(row) >= poisonCrashes)
  const calm = offered.filter((row) => deaths(row) < suspectCrashes)
  const suspect = offered.find((row) => deaths(row) >= suspectCrashes && deaths(row) < poisonCrashes)
  return { calm: calm.length > 0 || suspect === undefined ? calm : [suspect], poison }
}
