import type { Command } from 'commander'
import { parseArgsFilter, type JobQuery, type JobState } from '../../index.ts'
import type { GlobalOptions } from '../shell.ts'

/** Options that say which jobs. */
export interface FilterOptions extends GlobalOptions {
  state?: readonly JobState[]
  name?: string
  queue?: string
  tag?: string
  arg?: string
}

/** Adds what narrows jobs down beside their state. */
export function addFilter(command: Command): Command {
  return command
    .option('--name <name>', 'only those of this definition')
    .option('--queue <queue>', 'only those in this queue')
    .option('--tag <tag>', 'only those with this tag')
    .option('--arg <key=value>', 'only those with this in their args, such as customerId=7; needs --name')
}

/** The filter as the API takes it. */
export function queryOf({ name, queue, tag, arg }: FilterOptions, states: readonly JobState[]): JobQuery {
  return {
    states,
    ...(name === undefined ? {} : { name }),
    ...(queue === undefined ? {} : { queue }),
    ...(tag === undefined ? {} : { tag }),
    ...(arg === undefined ? {} : { args: parseArgsFilter(arg) }),
  }
}

/** Behind "jobs": which of them. */
export function filterText({ name, queue, tag, args = {} }: JobQuery): string {
  const of = name === undefined ? '' : ` of ${name}`
  const inside = queue === undefined ? '' : ` in ${queue}`
  const tagged = tag === undefined ? '' : ` with the tag ${tag}`
  const holding = argTexts(args).map((text) => ` with ${text}`)
  return [of, inside, tagged, ...holding].join('')
}

const argTexts = (args: NonNullable<JobQuery['args']>): string[] =>
  Object.entries(args).map(([key, value]) => `${key}=${JSON.stringify(value)}`)

/** The same as options, to be typed again. */
export function filterFlags({ name, queue, tag, args = {}, within }: JobQuery): string {
  return Object.entries({ name, queue, tag, arg: argTexts(args)[0], within })
    .map(([flag, value]) => (value === undefined ? '' : ` --${flag} ${quoted(String(value))}`))
    .join('')
}

/** A word that a shell takes as it is. */
export function quoted(word: string): string {
  return /^[\w.,:@%+=/-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`
}

/** States in a sentence: `dead`, `dead or discarded`. */
export function statesText(states: readonly JobState[]): string {
  return states.join(', ').replace(/, (\w+)$/, ' or $1')
}
