import { sleep } from '../std/sleep.ts'
import type { Course } from './course.ts'

/** Who rests: aborts when it has to stop, and is told that resting is no standstill. */
export interface Resting {
  signal: AbortSignal
  alive: () => void
}

/** The longest rest in one go: what changes meanwhile must show within a second. */
const napMs = 200

/**
 * Rests as long as the pace asks for, which may change meanwhile; gives what is owed. Rests that are shorter than a
 * timer is exact are put together.
 */
export async function rest(
  course: Pick<Course, 'pace'>,
  { elapsedMs, pace, owedMs }: { elapsedMs: number; pace: number; owedMs: number },
  { signal, alive }: Resting,
): Promise<number> {
  let restedMs = -owedMs
  for (;;) {
    const share = Math.min(pace, course.pace.share)
    if (course.pace.held || signal.aborted) return 0
    const leftMs = elapsedMs * (1 / share - 1) - restedMs
    if (leftMs < 1) return Math.max(0, leftMs)
    const began = performance.now()
    await sleep(Math.min(leftMs, napMs), signal)
    restedMs += performance.now() - began
    alive()
  }
}
