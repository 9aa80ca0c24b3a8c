/**
 * The claims of a worker whose row may still be there. A claim goes with the ending of its last job, not before: others
 * would take the rest for unclaimed.
 */
export class HeldClaims {
  readonly #held = new Set<string>()
  /** How many jobs of each claim have no ending that is written. */
  readonly #jobs = new Map<string, number>()
  /** Those that have no job left, and go with the next statement. */
  #empty: string[] = []

  /** Says how many jobs a claim has. */
  opened(claimId: string, jobs: number): void {
    this.#held.add(claimId)
    this.#jobs.set(claimId, jobs)
  }

  has(claimId: string): boolean {
    return this.#held.has(claimId)
  }

  get anyEmpty(): boolean {
    return this.#empty.length > 0
  }

  /** The claims that go with a statement which ends jobs of these claims. */
  emptyAfter(claimIds: readonly string[]): string[] {
    const ended = new Map<string, number>()
    for (const claimId of claimIds) ended.set(claimId, (ended.get(claimId) ?? 0) + 1)
    const last = [...ended].filter(([claimId, jobs]) => (this.#jobs.get(claimId) ?? jobs) === jobs)
    return [...last.map(([claimId]) => claimId), ...this.#empty.splice(0)]
  }

  /** Says that a job has left its claim. */
  left(claimId: string): void {
    const rest = (this.#jobs.get(claimId) ?? 1) - 1
    if (rest > 0) this.#jobs.set(claimId, rest)
    // Two statements at the same moment may each have ended one of the last two.
    else if (this.#jobs.delete(claimId)) this.#empty.push(claimId)
  }

  /** Says that the rows of claims are gone. */
  gone(claimIds: readonly string[]): void {
    for (const claimId of claimIds) {
      this.#held.delete(claimId)
      this.#jobs.delete(claimId)
    }
  }

  /** Says that the statement they were to go with did nothing. */
  stayed(claimIds: readonly string[]): void {
    this.#empty.push(...claimIds.filter((claimId) => !this.#jobs.has(claimId)))
  }
}
