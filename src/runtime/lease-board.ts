/** How many claims one process can hold at once. */
export const slots = 256

/** Bytes of shared memory that a board needs: the time of the last renewal, and progress per slot and of the loop. */
export const boardBytes = 8 * (2 + slots)

/** The slot behind those of the claims, in which the event loop itself shows that it turns. */
export const loopSlot = 256

/** Shared memory between the thread that works and the thread that renews; readable when the other one is stuck. */
export interface Board {
  readonly buffer: SharedArrayBuffer
  renewed(atMs: number): void
  lastRenewal(): number
  progress(slot: number): void
  progressOf(slot: number): bigint
}

export function openBoard(buffer: SharedArrayBuffer): Board {
  const cells = new BigInt64Array(buffer)
  return {
    buffer,
    renewed: (atMs) => void Atomics.store(cells, 0, BigInt(Math.round(atMs))),
    lastRenewal: () => Number(Atomics.load(cells, 0)),
    progress: (slot) => void Atomics.add(cells, 1 + slot, 1n),
    progressOf: (slot) => Atomics.load(cells, 1 + slot),
  }
}

/** Milliseconds on the monotonic clock that all threads of a process share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
