/** Whether a version of a package is newer than another one, by the rules of semver. Not a version: neither is. */
export function isNewer(version: string, other: string): boolean {
  return order(version, other) > 0
}

function order(a: string, b: string): number {
  const [[mainA, preA], [mainB, preB]] = [partsOf(a), partsOf(b)]
  const main = compare(mainA, mainB)
  // Before a release come its candidates.
  if (main !== 0 || preA.length === 0 || preB.length === 0) return main || preB.length - preA.length
  return compare(preA, preB)
}

function partsOf(version: string): [main: string[], pre: string[]] {
  const [main = '', ...pre] = version.replace(/\+.*$/, '').split('-')
  return [main.split('.'), pre.length === 0 ? [] : pre.join('-').split('.')]
}

/** Numbers by their value, before words; a list that goes on comes after one that ends. */
function compare(a: string[], b: string[]): number {
  for (const [i, part] of a.entries()) {
    const other = b[i]
    if (other === undefined) return 1
    const [x, y] = [Number(part), Number(other)]
    if (part === other) continue
    if (Number.isNaN(x) && Number.isNaN(y)) return part < other ? -1 : 1
    if (Number.isNaN(x) || Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1
    return x - y
  }
  return a.length - b.length
}
