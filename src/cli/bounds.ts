import type { Command } from 'commander'
import type { StartOptions } from '../index.ts'
import { parseKey } from './json-option.ts'
import type { GlobalOptions } from './shell.ts'

/** Options that bound the walk of an operation. */
export interface BoundOptions extends GlobalOptions {
  min?: string
  max?: string
}

/** Adds the keys between which an operation walks. */
export function addBounds(command: Command): Command {
  return command
    .option('--min <json>', 'begin behind this key, an array with one value for each column of the cursor')
    .option('--max <json>', 'end at this key, which is still included')
}

/** The keys as the API takes them. */
export function boundsOf(options: BoundOptions): Pick<StartOptions, 'min' | 'max'> {
  const [min, max] = [parseKey('--min', options.min), parseKey('--max', options.max)]
  return { ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) }
}
