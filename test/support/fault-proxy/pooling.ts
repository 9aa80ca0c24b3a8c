import type { Backend, Holder } from './backend.ts'
import type { Fault, LinkInfo } from './faults.ts'

/** A client that borrows backends for the length of a transaction. */
export interface Guest extends LinkInfo {
  readonly lastBackend: Backend | undefined
  attach(backend: Backend): void
  /** There is no backend and none will come: the client must connect anew and bring one. */
  refuse(): void
}

/** How a pooler lends its backends. */
export interface PoolingOptions {
  /** For one transaction; for one statement, then it refuses transactions; or for as long as the client stays. */
  mode: 'transaction' | 'statement' | 'session'
  backends: number
  /** Whether a client gets a key of the pooler's own, as from PgBouncer, or that of the backend on which it logged in. */
  keys: 'own' | 'server'
}

/** Start-up parameters that PgBouncer accepts; it refuses all others, `options` and time-outs among them. */
const acceptedParameters = new Set([
  'user',
  'database',
  'client_encoding',
  'application_name',
  'datestyle',
  'timezone',
  'standard_conforming_strings',
])

export const refusedParameter = (startup: ReadonlyMap<string, string>): string | undefined =>
  [...startup.keys()].find((name) => !acceptedParameters.has(name.toLowerCase()))

/**
 * The backends that all clients of one user and database share, one transaction at a time. Every client brings the
 * backend on which it logged in, for the proxy knows no passwords; beyond the limit that backend is dismissed.
 */
export class Pool implements Holder {
  readonly mode: PoolingOptions['mode']
  readonly keys: PoolingOptions['keys']
  readonly #limit: number
  readonly #fault: Fault
  readonly #idle: Backend[] = []
  readonly #busy = new Set<Backend>()
  readonly #waiting: Guest[] = []

  constructor({ backends, mode, keys }: PoolingOptions, fault: Fault) {
    this.mode = mode
    this.keys = keys
    this.#limit = backends
    this.#fault = fault
  }

  /** Takes in a backend on which a client has just logged in. */
  admit(backend: Backend): void {
    if (this.#idle.length + this.#busy.size < this.#limit) this.#give(backend)
    else backend.dismiss()
  }

  /** Attaches a backend to the guest, now or when one is free. */
  acquire(guest: Guest): void {
    if (this.#idle.length + this.#busy.size === 0) {
      guest.refuse()
      return
    }
    // Longest idle first and not the guest's last one if it can be helped: who relies on session state shall fail.
    const other = this.#idle.findIndex((backend) => backend !== guest.lastBackend)
    const [backend] = this.#idle.splice(Math.max(other, 0), 1)
    if (backend) this.#lend(backend, guest)
    else this.#waiting.push(guest)
  }

  release(backend: Backend): void {
    this.#busy.delete(backend)
    this.#give(backend)
  }

  /** A backend has died, or its client died in mid-transaction: it must not be lent again. */
  lost(backend: Backend): void {
    this.#busy.delete(backend)
    const at = this.#idle.indexOf(backend)
    if (at !== -1) this.#idle.splice(at, 1)
    if (this.#idle.length + this.#busy.size > 0) return
    for (const guest of this.#waiting.splice(0)) guest.refuse()
  }

  forget(guest: Guest): void {
    const at = this.#waiting.indexOf(guest)
    if (at !== -1) this.#waiting.splice(at, 1)
  }

  // What a backend says while nobody borrows it (notices, notifications) has no addressee, as behind a real pooler.
  hear(): void {}
  drained(): void {}
  shapeUp(): undefined {}

  #give(backend: Backend): void {
    backend.serve(this)
    const guest = this.#waiting.shift()
    if (guest) this.#lend(backend, guest)
    else this.#idle.push(backend)
  }

  #lend(backend: Backend, guest: Guest): void {
    this.#busy.add(backend)
    if (guest.lastBackend !== undefined && guest.lastBackend !== backend) this.#fault.strike({ link: guest })
    guest.attach(backend)
  }
}
