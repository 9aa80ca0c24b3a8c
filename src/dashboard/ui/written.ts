/** Processes write their counts one after the other; before so long a sample may lack some of them. */
const writingMs = 5_000

/** The samples that all have written down: the last one, half of it, would look like a fall. */
export function written<Sample extends { at: string }>(
  { samples, everyMs }: { samples: readonly Sample[]; everyMs: number },
  now: number = Date.now(),
): readonly Sample[] {
  const whole = samples.filter(({ at }) => Date.parse(at) + everyMs + writingMs <= now)
  return whole.length === 0 ? samples : whole
}
