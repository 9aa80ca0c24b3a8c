/** The cloud in which databases are made. It knows a repetition by its key, as a good provider does. */
export const made = new Map<string, string>()

export const provider = {
  /** How often it was asked; the answer to the same key is the same. */
  asked: 0,

  async create(name: string, { idempotencyKey }: { idempotencyKey: string }): Promise<string> {
    provider.asked += 1
    const host = made.get(idempotencyKey) ?? `${name}.db.example.com`
    made.set(idempotencyKey, host)
    return host
  },
}
