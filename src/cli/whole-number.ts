import { InvalidArgumentError } from 'commander'
import { count } from './figures.ts'

/** A parser for options that take a whole number. */
export function wholeNumber(least: number, most: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= least && value <= most) return value
    throw new InvalidArgumentError(`It must be a whole number from ${count(least)} to ${count(most)}.`)
  }
}
