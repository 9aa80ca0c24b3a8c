/** What one run of a variant did, and how long the measured part of it took. */
export interface Run {
  rows: number
  ms: number
}

/** One way to do the work of a scenario. Each run begins with a fresh copy of the data and checks its own result. */
interface Variant<R = Run> {
  name: string
  run(): Promise<R>
}

/** The runs of one variant, in the order of the rounds. */
export interface Outcome<R = Run> {
  variant: string
  runs: R[]
}

/** A median and what lay around it. */
export interface Spread {
  median: number
  min: number
  max: number
}

/**
 * Runs all variants once per round. A machine drifts over minutes, so variants alternate and are compared within their
 * round; each round begins with another variant, so that none always follows the same neighbour.
 */
export async function interleave<R extends { ms: number } = Run>(
  { variants }: { variants: Variant<R>[] },
  rounds: number,
  say: (line: string) => void,
): Promise<Outcome<R>[]> {
  const outcomes = variants.map(({ name }) => ({ variant: name, runs: [] as R[] }))
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const which = (round + turn) % variants.length
      const run = await variants[which]?.run()
      if (run === undefined) continue
      outcomes[which]?.runs.push(run)
      say(`round ${round + 1} of ${rounds}: ${variants[which]?.name}, ${(run.ms / 1_000).toFixed(2)} s`)
    }
  }
  return outcomes
}

export function spread(values: number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (index: number): number => sorted[index] ?? Number.NaN
  const last = sorted.length - 1
  return { median: (at(Math.floor(last / 2)) + at(Math.ceil(last / 2))) / 2, min: at(0), max: at(last) }
}
