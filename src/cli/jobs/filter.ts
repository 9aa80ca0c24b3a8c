import type { Command } from 'commander'
import type { JobQuery, JobState } from '../../index.ts'
import type { GlobalOptions } from '../shell.ts'

/** Options that say which jobs. */
export interface FilterOptions extends GlobalOptions {
  state?: readonly JobState[]
  name?: string
  queue?: string
  tag?: string
}

/** Adds what narrows jobs down beside their state. */
export function addFilter(command: Command): Command {
  return command
    .option('--name <name>', 'only those of this definition')
    .option('--queue <queue>', 'only those in this queue')
    .option('--tag <tag>', 'only those with this tag')
}

/** The filter as the API takes it. */
export function queryOf({ name, queue, tag }: FilterOptions, states: readonly JobState[]): JobQuery {
  return {
    states,
    ...(name === undefined ? {} : { name }),
    ...(queue === undefined ? {} : { queue }),
    ...(tag === undefined ? {} : { tag }),
  }
}

/** Behind "jobs": which of them. */
export function filterText({ name, queue, tag }: JobQuery): string {
  const of = name === undefined ? '' : ` of ${name}`
  const inside = queue === undefined ? '' : ` in ${queue}`
  return `${of}${inside}${tag === undefined ? '' : ` with the tag ${tag}`}`
}

/** The same as options, to be typed again. */
export function filterFlags({ name, queue, tag, within }: JobQuery): string {
  return Object.entries({ name, queue, tag, within })
    .map(([flag, value]) => (value === undefined ? '' : ` --${flag} ${quoted(String(value))}`))
    .join('')
}

/** A word that a shell takes as it is. */
export function quoted(word: string): string {
  return /^[\w.,:@%+/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** States in a sentence: `dead`, `dead or discarded`. */
export function statesText(states: readonly JobState[]): string {
  return states.join(', ').replace(/, (\w+)$/, ' or $1')
}
