import { Fault, type LinkInfo, type Which } from './faults.ts'

export type Direction = 'up' | 'down'

interface Condition {
  fault: Fault
  directions: readonly Direction[]
  which: Which
}

/** How bytes are to be delivered: when, and in pieces of what size. */
export interface Shape {
  delayMs: number
  piece: number
}

export interface WeatherAim {
  direction?: Direction | 'both'
  which?: Which
}

/** The faults that strike bytes and not statements: black holes, delays, tiny pieces. */
export class Weather {
  readonly #holes = new Set<Condition>()
  readonly #delays = new Set<Condition & { ms: number; jitterMs: number }>()
  readonly #pieces = new Set<Condition & { bytes: number }>()
  readonly #random: () => number
  readonly #onHealed: () => void

  constructor(random: () => number, onHealed: () => void) {
    this.#random = random
    this.#onHealed = onHealed
  }

  blackhole(aim: WeatherAim): Fault {
    return this.#add(this.#holes, aim, {})
  }

  delay(ms: number, jitterMs: number, aim: WeatherAim): Fault {
    return this.#add(this.#delays, aim, { ms, jitterMs })
  }

  chunk(bytes: number, aim: WeatherAim): Fault {
    return this.#add(this.#pieces, aim, { bytes })
  }

  clear(): void {
    for (const { fault } of [...this.#holes, ...this.#delays, ...this.#pieces]) fault.lift()
  }

  /** The black hole, if any, into which the link's bytes fall now. */
  hole(link: LinkInfo, direction: Direction): Fault | undefined {
    return find(this.#holes, link, direction)?.fault
  }

  shape(link: LinkInfo, direction: Direction): Shape | undefined {
    if (this.#delays.size === 0 && this.#pieces.size === 0) return undefined
    const delay = find(this.#delays, link, direction)
    const pieces = find(this.#pieces, link, direction)
    if (!delay && !pieces) return undefined
    delay?.fault.strike({ link })
    pieces?.fault.strike({ link })
    return {
      delayMs: delay ? delay.ms + delay.jitterMs * this.#random() : 0,
      piece: pieces ? pieces.bytes : Infinity,
    }
  }

  #add<T extends object>(set: Set<Condition & T>, aim: WeatherAim, more: T): Fault {
    const fault = new Fault(() => {
      set.delete(condition)
      this.#onHealed()
    })
    const directions = directionsOf(aim.direction ?? 'both')
    const condition = { fault, directions, which: aim.which ?? (() => true), ...more }
    set.add(condition)
    return fault
  }
}

function find<T extends Condition>(set: Set<T>, link: LinkInfo, direction: Direction): T | undefined {
  for (const condition of set) {
    if (condition.directions.includes(direction) && condition.which(link)) return condition
  }
  return undefined
}

const directionsOf = (direction: Direction | 'both'): readonly Direction[] =>
  direction === 'both' ? ['up', 'down'] : [direction]
