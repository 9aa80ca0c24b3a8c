/** A text cut at its `$n`: what stands between them, and the value that each one names. */
export interface Cut {
  /** One more than there are values. */
  texts: string[]
  values: unknown[]
}

/** What is quoted is no placeholder, whatever it looks like. */
const quotedOrPlaceholder = /'(?:[^']|'')*'|"(?:[^"]|"")*"|\$(\d+)/g

/** Cuts a text for libraries that number placeholders themselves; a value that is named twice is there twice. */
export function cutAtPlaceholders(text: string, given: readonly unknown[]): Cut {
  const [texts, values]: [string[], unknown[]] = [[], []]
  let from = 0
  for (const { 0: found, 1: number, index } of text.matchAll(quotedOrPlaceholder)) {
    if (number === undefined) continue
    texts.push(text.slice(from, index))
    values.push(given[Number(number) - 1])
    from = index + found.length
  }
  return { texts: [...texts, text.slice(from)], values }
}
