/** How many claims one process can hold at once. */
export const slots = 256

/** Bytes of shared memory that a board needs: the last renewal, progress per slot and of the loop, its lag. */
export const boardBytes = 8 * (3 + slots)

/** The slot behind those of the claims, in which the event loop itself shows that it turns. */
export const loopSlot = 256
const lagCell = 2 + slots

/** Shared memory between the thread that works and the thread that renews; readable when the other one is stuck. */
export interface Board {
  readonly buffer: SharedArrayBuffer
  renewed(atMs: number): void
  lastRenewal(): number
  progress(slot: number): void
  progressOf(slot: number): bigint
  /** Says how late the event loop was; the worst is kept until it is taken. */
  late(ms: number): void
  takeLateness(): number
}

export function openBoard(buffer: SharedArrayBuffer): Board {
  const cells = new BigInt64Array(buffer)
  return {
    buffer,
    renewed: (atMs) => void Atomics.store(cells, 0, BigInt(Math.round(atMs))),
    lastRenewal: () => Number(Atomics.load(cells, 0)),
    progress: (slot) => void Atomics.add(cells, 1 + slot, 1n),
    progressOf: (slot) => Atomics.load(cells, 1 + slot),
    late: (ms) => {
      const late = BigInt(Math.max(0, Math.round(ms)))
      if (late > Atomics.load(cells, lagCell)) Atomics.store(cells, lagCell, late)
    },
    takeLateness: () => Number(Atomics.exchange(cells, lagCell, 0n)),
  }
}

/** Milliseconds on the monotonic clock that all threads of a process share. */
export function monotonicMs(): number {
  return Number(process.hrtime.bigint() / 1_000_000n)
}
