/**
 * Durations by their size. A histogram is a list of counts: the first is for up to 1 ms, each next one for up to √2
 * times more, and the last for all that is longer. Histograms of several processes and spans add up, place by place.
 */
export type Histogram = readonly number[]

const perDoubling = 2
/** The last place begins at three days. */
const most = 57

/** The longest duration of a place. */
const upperMs = (place: number): number => 2 ** (place / perDoubling)

/** The place that a duration counts at. */
export function placeOfMs(ms: number): number {
  return ms <= 1 ? 0 : Math.min(most - 1, Math.ceil(Math.log2(ms) * perDoubling - 1e-9))
}

/** Counts a duration in a list that is being filled. */
export function count(into: number[], ms: number, times = 1): void {
  const place = placeOfMs(Math.max(0, ms))
  while (into.length <= place) into.push(0)
  into[place] = (into[place] ?? 0) + times
}

/** All of them in one. */
export function sumOf(histograms: Iterable<Histogram>): number[] {
  const sum: number[] = []
  for (const histogram of histograms) {
    for (const [place, times] of histogram.entries()) sum[place] = (sum[place] ?? 0) + times
  }
  return sum
}

/**
 * The duration that a share of them does not exceed, such as 0.95 for the p95; undefined without any. Inside of a
 * place it goes by ratio, so that the error is below a fifth.
 */
export function quantile(histogram: Histogram, share: number): number | undefined {
  const total = histogram.reduce((sum, times) => sum + times, 0)
  if (total === 0) return undefined
  const wanted = Math.max(1, share * total)
  let below = 0
  for (const [place, times] of histogram.entries()) {
    if (below + times >= wanted) {
      const lower = place === 0 ? upperMs(0) / 2 : upperMs(place - 1)
      return lower * (upperMs(place) / lower) ** ((wanted - below) / times)
    }
    below += times
  }
  return upperMs(histogram.length - 1)
}
