import { Fifo } from './fifo.ts'

interface Waiting {
  enter: (entered: boolean) => void
  gone: boolean
}

/** A number of places; whoever finds none waits for one, first come, first served. */
export class Slots {
  #free: number
  readonly #waiting = new Fifo<Waiting>()

  constructor(count: number) {
    this.#free = count
  }

  /** Waits for a place, up to `limitMs`; false: there was none. Each one that is taken must be given back. */
  async take(limitMs?: number): Promise<boolean> {
    if (this.#free > 0) {
      this.#free -= 1
      return true
    }
    let timer: NodeJS.Timeout | undefined
    const entered = await new Promise<boolean>((enter) => {
      const waiting: Waiting = { enter, gone: false }
      this.#waiting.push(waiting)
      if (limitMs === undefined) return
      timer = setTimeout(() => {
        waiting.gone = true
        enter(false)
      }, limitMs)
    })
    clearTimeout(timer)
    return entered
  }

  give(): void {
    let next = this.#waiting.shift()
    while (next?.gone === true) next = this.#waiting.shift()
    if (next === undefined) this.#free += 1
    else next.enter(true)
  }
}
