/** So many errors of one that was thrown are looked at, and so deep. */
const most = 50
const deepest = 10

/**
 * An error with all that it was made from, the outermost first: its `cause`, and what an AggregateError holds. What Node's
 * `fetch` throws says why only in there, and libraries wrap the errors of drivers. Never throws, and always ends.
 */
export function errorChain(thrown: unknown): unknown[] {
  const chain: unknown[] = [thrown]
  let level = causesOf(thrown)
  for (let depth = 1; depth <= deepest && level.length > 0; depth++) {
    const fresh = [...new Set(level)].filter((one) => !chain.includes(one)).slice(0, most - chain.length)
    chain.push(...fresh)
    level = fresh.flatMap(causesOf)
  }
  return chain
}

/** What an error comes from; none where it cannot be read. */
function causesOf(error: unknown): unknown[] {
  try {
    if (!(error instanceof Error)) return []
    const together = error instanceof AggregateError ? [...error.errors].slice(0, most) : []
    return [...(error.cause === undefined || error.cause === null ? [] : [error.cause]), ...(together as unknown[])]
  } catch {
    return []
  }
}
