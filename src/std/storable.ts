/** Any value as a text of bounded length that PostgreSQL can store. Never throws. */
export function storable(value: unknown, limit: number): string {
  const text = describe(value)
  const bounded = text.length <= limit ? text : `${text.slice(0, limit)}…`
  // After the cut, which may have gone through a surrogate pair.
  return wellFormed(bounded).replaceAll('\0', '\uFFFD')
}

/** A value in quotes, short enough for a message. */
export function quoted(value: unknown): string {
  return JSON.stringify(storable(value, 100))
}

function describe(value: unknown): string {
  try {
    return isNothing(value) ? '' : String(value)
  } catch {
    // A value may refuse to become text; its kind is all there is to say.
    return typeof value
  }
}

function isNothing(value: unknown): boolean {
  return value === undefined
}

function wellFormed(text: string): string {
  return text.isWellFormed() ? text : text.toWellFormed()
}
