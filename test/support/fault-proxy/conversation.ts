import type { StatementPlan } from './faults.ts'
import type { Frame } from './frames.ts'

/** A client message which the server owes an answer to. */
export interface Turn {
  type: string
  plan: StatementPlan | undefined
}

export type TransactionStatus = 'I' | 'T' | 'E'

/** For each client message, the server messages that end its answer. */
const lastAnswers: Readonly<Record<string, string>> = {
  Q: 'Z',
  F: 'Z',
  S: 'Z',
  P: '1',
  B: '2',
  C: '3',
  D: 'Tn',
  E: 'CIs',
}

/** Knows which client message each server message answers, also when the client sends ahead. */
export class Conversation {
  readonly #turns: Turn[] = []
  #skipping = false
  #status: TransactionStatus = 'I'

  get status(): TransactionStatus {
    return this.#status
  }

  /** True while the server, after an error, ignores everything up to the next Sync. */
  get skipping(): boolean {
    return this.#skipping
  }

  /** True when the server owes nothing: asked right after ReadyForQuery, no batch is half-way either. */
  get idle(): boolean {
    return this.#turns.length === 0
  }

  sent(type: string, plan?: StatementPlan): void {
    if (type === 'c' || type === 'f') this.#forgetIgnoredSyncs()
    if (!(type in lastAnswers)) return
    if (type === 'S') this.#skipping = false
    if (!this.#skipping) this.#turns.push({ type, plan })
  }

  /** Returns the turn to which the server's message belongs. */
  heard({ type, bytes }: Frame): Turn | undefined {
    const turn = this.#turns[0]
    if (type === 'Z') this.#status = toStatus(bytes[5])
    if (type === 'E') this.#fail()
    else if (turn && this.#ends(turn, type)) this.#turns.shift()
    return turn
  }

  /** The turns that will never be answered because the connection ends. */
  abandon(): Turn[] {
    return this.#turns.splice(0)
  }

  #ends({ type, plan }: Turn, answer: string): boolean {
    // An Execute that is made to fail stands for several messages; only the error is its end.
    if (type === 'E' && plan?.effect.kind === 'answer') return false
    return lastAnswers[type]?.includes(answer) ?? false
  }

  #fail(): void {
    const failed = this.#turns[0]
    if (!failed || lastAnswers[failed.type] === 'Z') return
    while (this.#turns[0] && this.#turns[0].type !== 'S') {
      const turn = this.#turns.shift()
      if (turn !== failed) turn?.plan?.fault.giveBack()
    }
    this.#skipping = this.#turns.length === 0
  }

  /** The server pays no heed to a Sync that it reads while copying in. */
  #forgetIgnoredSyncs(): void {
    while (this.#turns.at(-1)?.type === 'S') this.#turns.pop()
  }
}

function toStatus(byte: number | undefined): TransactionStatus {
  if (byte === 0x54) return 'T'
  return byte === 0x45 ? 'E' : 'I'
}
