/** What the app store says of a submission. */
type Verdict = 'waiting' | 'reviewing' | 'approved'

/** The app store, as far as this example needs it. It knows a repetition by its key. */
class AppStore {
  readonly uploads = new Map<string, string>()
  readonly submissions = new Map<string, string>()
  /** How often it was asked to take something, repetitions included. */
  calls = 0
  verdict: Verdict = 'waiting'

  async upload(path: string, idempotencyKey: string): Promise<void> {
    this.calls += 1
    this.uploads.set(idempotencyKey, path)
  }

  async submit(title: string, idempotencyKey: string): Promise<void> {
    this.calls += 1
    this.submissions.set(idempotencyKey, title)
  }

  async review(title: string): Promise<Verdict> {
    // Not by what an earlier call answered: what is there is asked for.
    return [...this.submissions.values()].includes(title) ? this.verdict : 'waiting'
  }
}

export const appStore = new AppStore()
