import { setTimeout as sleep } from 'node:timers/promises'
import { Sluice } from '../../../src/index.ts'
import { definitions, kinds, mix, type KindName, type MixArgs } from './mix.ts'

/** An enqueueing that was acknowledged. */
export interface Fed {
  id: number
  kind: KindName
  n: number
}

/** How many jobs may wait: enqueueing shall last as long as the faults do. */
const mostWaiting = 300
const atOnce = 25

/** Enqueues the mix, bit by bit, until so many jobs are acknowledged. What fails is not counted and not repeated. */
export class Feeder implements AsyncDisposable {
  readonly acknowledged: Fed[] = []
  duplicates = 0
  unsure = 0
  readonly #sluice: Sluice
  #n = 0

  constructor(url: string) {
    this.#sluice = new Sluice({ database: url, timeouts: { statement: '3s', lock: '2s' } })
  }

  /** `ended` tells how many jobs are over. */
  async feed(jobs: number, ended: () => Promise<number>): Promise<void> {
    const backlog = Math.min(mostWaiting, Math.max(2 * atOnce, jobs / 8))
    while (this.acknowledged.length < jobs) {
      const waiting = this.acknowledged.length - (await ended().catch(() => Infinity))
      if (waiting > backlog - atOnce || waiting < 0) await sleep(50)
      else await this.#some(Math.min(atOnce, jobs - this.acknowledged.length))
    }
  }

  async #some(count: number): Promise<void> {
    const picked = Array.from({ length: count }, () => this.#pick())
    const notes = picked.filter(({ kind }) => kind === 'note').map(({ args }) => args)
    const others = picked.filter(({ kind }) => kind !== 'note')
    await Promise.all([
      this.#take(
        notes.map((args) => ({ kind: 'note', args })),
        () => this.#sluice.jobs.enqueueMany(definitions.note, notes),
      ),
      ...others.map((one) =>
        this.#take([one], async () => [await this.#sluice.jobs.enqueue(definitions[one.kind], one.args)]),
      ),
    ])
  }

  async #take(
    picked: readonly { kind: KindName; args: MixArgs }[],
    enqueue: () => Promise<{ id: number; duplicate: boolean }[]>,
  ): Promise<void> {
    try {
      const enqueued = await enqueue()
      for (const [i, { id, duplicate }] of enqueued.entries()) {
        const one = picked[i]
        if (duplicate || one === undefined) this.duplicates += 1
        else this.acknowledged.push({ id, kind: one.kind, n: one.args.n })
      }
    } catch {
      // The answer may be lost or the statement may have failed: nobody was promised anything.
      this.unsure += picked.length
      await sleep(100)
    }
  }

  #pick(): { kind: KindName; args: MixArgs } {
    let at = Math.random() * kinds.reduce((sum, [, { share }]) => sum + share, 0)
    const [kind] = kinds.find(([, { share }]) => (at -= share) < 0) ?? ['note' as const]
    this.#n += 1
    const { limit = 0, keys = 1 } = mix[kind] as { limit?: number; keys?: number }
    return { kind, args: { n: this.#n, key: `${limit}:${Math.floor(Math.random() * keys)}` } }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#sluice.stop()
  }
}
