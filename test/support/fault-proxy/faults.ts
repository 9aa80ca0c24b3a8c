import { bind, execute, parse, query } from './messages.ts'
import type { Frame } from './frames.ts'

/** What is known of a client's connection, for choosing whom a fault strikes. */
export interface LinkInfo {
  readonly id: number
  readonly user: string | undefined
  readonly database: string | undefined
  readonly applicationName: string | undefined
  /** Statements executed so far: simple queries plus Execute messages. */
  readonly statements: number
  /** The server's last word: idle, in a transaction, in a failed transaction. */
  readonly status: 'I' | 'T' | 'E'
}

/** The facts as they are now, apart from the living link. */
export const snapshot = ({ id, user, database, applicationName, statements, status }: LinkInfo): LinkInfo => ({
  id,
  user,
  database,
  applicationName,
  statements,
  status,
})

export type Which = (link: LinkInfo) => boolean
export type Ending = 'rst' | 'fin' | 'hang'

/** One strike. Where a statement was struck, `tag` or `error` is what the server really answered. */
export interface Hit {
  link: LinkInfo
  text?: string
  tag?: string
  error?: string
}

/** A fault that is set: counts what it really hit, until lifted. */
export class Fault {
  #hits = 0
  #lifted = false
  #waiting: ((hit: Hit) => void)[] = []
  readonly #onLift: () => void

  constructor(onLift: () => void = () => {}) {
    this.#onLift = onLift
  }

  get hits(): number {
    return this.#hits
  }

  get lifted(): boolean {
    return this.#lifted
  }

  /** Resolves with the next hit, counted from this call. */
  next(): Promise<Hit> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  lift(): void {
    if (this.#lifted) return
    this.#lifted = true
    this.#onLift()
  }

  [Symbol.dispose](): void {
    this.lift()
  }

  /** Called by the proxy when the fault has really struck. */
  strike(hit: Hit): void {
    this.#hits += 1
    for (const resolve of this.#waiting.splice(0)) resolve({ ...hit, link: snapshot(hit.link) })
  }
}

export interface StatementAim {
  /** Matched against the statement's text without leading space; 'connect' means the start-up packet. */
  to: RegExp | 'connect'
  /** At most so many hits; without it, until lifted. */
  times?: number
  /** Strikes only each n-th match. */
  every?: number
  which?: Which
}

export type Effect = { kind: 'drop'; ending: Ending } | { kind: 'answer'; sqlstate: string }

/** One statement for which a fault has been chosen. */
export interface StatementPlan {
  fault: StatementFault
  effect: Effect
  text: string
  /** A word that no other error message contains: it tells the error we caused from a real one. */
  marker: string
  /** It has hit; what is still under way when the connection ends has not. */
  struck?: boolean
}

let plans = 0

/** A fault aimed at statements by their text. */
export class StatementFault extends Fault {
  readonly #aim: StatementAim
  readonly #effect: Effect
  #matches = 0
  #left: number

  constructor(aim: StatementAim, effect: Effect) {
    super()
    this.#aim = aim
    this.#effect = effect
    this.#left = aim.times ?? Infinity
  }

  get aimsAtConnect(): boolean {
    return this.#aim.to === 'connect'
  }

  take(link: LinkInfo, text: string): StatementPlan | undefined {
    if (this.lifted || this.#left <= 0 || !this.#matchesOn(link, text)) return undefined
    this.#matches += 1
    if (this.#matches % (this.#aim.every ?? 1) !== 0) return undefined
    this.#left -= 1
    plans += 1
    return { fault: this, effect: this.#effect, text, marker: `fault_proxy_${plans}_` }
  }

  /** A chosen statement never came to its answer, so it was no hit and another may be chosen. */
  giveBack(): void {
    this.#left += 1
  }

  #matchesOn(link: LinkInfo, text: string): boolean {
    const { to, which } = this.#aim
    const matches = to === 'connect' ? text === 'connect' : text.trimStart().search(to) !== -1
    return matches && (which === undefined || which(link))
  }
}

/**
 * What the server gets in place of a statement that shall fail: something that really fails there, at the same place
 * of the conversation, so that transaction status and skip-until-Sync are the server's own and not our guess.
 */
export function failing({ type }: Frame, { text, marker }: StatementPlan): Buffer {
  // A commit that fails has ended its transaction; any other failed statement leaves it open and failed.
  const endsTransaction = /^\s*(commit|end)\b/i.test(text)
  if (type === 'Q') return query(endsTransaction ? `rollback; select ${marker}()` : marker)
  if (!endsTransaction) return execute(marker)
  return Buffer.concat([parse('rollback'), bind(), execute(''), execute(marker)])
}
