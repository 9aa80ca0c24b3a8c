import { Conversation, type TransactionStatus } from './conversation.ts'
import { failing, type Ending, type Hit, type LinkInfo, type StatementFault, type StatementPlan } from './faults.ts'
import type { Frame } from './frames.ts'
import { errorCode, errorResponse, firstString } from './messages.ts'
import { isFatal, messageOf } from './sqlstate.ts'
import { StatementBook } from './statements.ts'

/** What comes of a server message: bytes for the client, and whether the connection ends with it. */
export interface Outcome {
  bytes: Buffer | undefined
  ending?: Ending | 'fatal'
}

/** The protocol side of one client: which statement runs, which fault strikes it, what the client may see. */
export class Session {
  readonly #link: LinkInfo
  readonly #faults: () => readonly StatementFault[]
  readonly #conversation = new Conversation()
  readonly #book = new StatementBook()
  #dropping: { plan: StatementPlan; hit: Hit } | undefined
  #statements = 0

  constructor(link: LinkInfo, faults: () => readonly StatementFault[]) {
    this.#link = link
    this.#faults = faults
  }

  get statements(): number {
    return this.#statements
  }

  get status(): TransactionStatus {
    return this.#conversation.status
  }

  /** True, right after ReadyForQuery, when nothing ties the client to its backend. */
  get betweenTransactions(): boolean {
    return this.#conversation.idle && this.#conversation.status === 'I'
  }

  /** Returns what the server shall get for a client's message. */
  toServer(frame: Frame): Buffer {
    this.#book.note(frame)
    const plan = frame.type === 'Q' || frame.type === 'E' ? this.#run(frame) : undefined
    this.#conversation.sent(frame.type, plan)
    return plan?.effect.kind === 'answer' ? failing(frame, plan) : frame.bytes
  }

  /** Returns what the client shall get for a server's message. */
  toClient(frame: Frame): Outcome {
    const turn = this.#conversation.heard(frame)
    const plan = turn?.plan
    if (plan?.effect.kind === 'drop') this.#dropping ??= { plan, hit: { link: this.#link, text: plan.text } }
    if (this.#dropping) return this.#drop(frame)
    return plan?.effect.kind === 'answer' ? this.#answer(frame, plan, plan.effect.sqlstate) : { bytes: frame.bytes }
  }

  /** The connection ends: faults chosen for statements still under way did not hit. */
  close(): void {
    for (const { plan } of this.#conversation.abandon()) if (plan?.struck !== true) plan?.fault.giveBack()
    this.#dropping?.plan.fault.giveBack()
    this.#dropping = undefined
  }

  #run(frame: Frame): StatementPlan | undefined {
    this.#statements += 1
    const faults = this.#faults()
    if (faults.length === 0 || this.#conversation.skipping) return undefined
    const text = this.#book.textRunBy(frame)
    for (const fault of faults) {
      const plan = fault.aimsAtConnect ? undefined : fault.take(this.#link, text)
      if (plan) return plan
    }
    return undefined
  }

  #drop({ type, bytes }: Frame): Outcome {
    if (!this.#dropping) return { bytes }
    const { plan, hit } = this.#dropping
    if (type === 'C') hit.tag = firstString(bytes)
    if (type === 'E') hit.error = errorCode(bytes) ?? ''
    // Only ReadyForQuery proves that also a statement outside a transaction has been committed.
    if (type !== 'Z' || plan.effect.kind !== 'drop') return { bytes: undefined }
    this.#dropping = undefined
    plan.fault.strike(hit)
    return { bytes: undefined, ending: plan.effect.ending }
  }

  #answer({ type, bytes }: Frame, plan: StatementPlan, sqlstate: string): Outcome {
    if (type !== 'E') return { bytes: 'ZAS'.includes(type) ? bytes : undefined }
    if (!bytes.includes(plan.marker)) {
      plan.fault.giveBack()
      return { bytes }
    }
    plan.struck = true
    plan.fault.strike({ link: this.#link, text: plan.text, error: sqlstate })
    if (!isFatal(sqlstate)) return { bytes: errorResponse('ERROR', sqlstate, messageOf(sqlstate)) }
    return { bytes: errorResponse('FATAL', sqlstate, messageOf(sqlstate)), ending: 'fatal' }
  }
}
