const most = 200

/** Keeps the number of names bounded: the first ones as they are, all others as one. */
export class Labels {
  readonly #known = new Map<string, Set<string>>()

  /** The name as a label of that kind. */
  of(kind: string, name: string): string {
    const names = this.#known.get(kind) ?? new Set()
    this.#known.set(kind, names)
    if (names.has(name)) return name
    if (names.size >= most) return 'other'
    names.add(name)
    return name
  }
}
