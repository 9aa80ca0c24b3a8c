/**
 * How many jobs beyond the running ones a process may hold. Quick jobs are worth fetching ahead, because the round trip
 * takes longer than the work; slow ones would only wait here while another process is idle.
 */
export function prefetchOf({ concurrency, runMs }: { concurrency: number; runMs: number }): number {
  if (runMs > 50) return 0
  return runMs > 5 ? concurrency : Math.min(2_000, Math.max(100, concurrency * 5))
}

/** The average over the last jobs, the newest of which count most. */
export function averageOf(before: number, runMs: number): number {
  return before + (runMs - before) * 0.02
}

/** Queues in the order in which to look into them this time: by chance, the heavier ones first more often. */
export function shuffle<Q extends { weight: number }>(queues: readonly Q[], random: () => number): Q[] {
  return queues
    .map((queue) => ({ queue, rank: random() ** (1 / queue.weight) }))
    .toSorted((a, b) => b.rank - a.rank)
    .map(({ queue }) => queue)
}
