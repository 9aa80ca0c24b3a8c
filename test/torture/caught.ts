/** Whether a planted bug shows within some rounds: on a busy machine a single harm may miss the place where it bites. */
export async function caught(shows: () => Promise<boolean>, rounds = 8): Promise<boolean> {
  for (let round = 0; round < rounds; round++) if (await shows()) return true
  return false
}
