/** The mistake of giving a connection that is not in a transaction; `inside` is how to get one that is. */
export function outside(adapter: string, inside: string): TypeError {
  return new TypeError(`${adapter} takes what is inside of a transaction, as ${inside} gives it`)
}
