import { jobs } from './jobs.ts'
import type { Mutant } from './mutant.ts'
import { operations } from './operations.ts'
import { patterns } from './patterns.ts'
import { schema } from './schema.ts'

/** Every planted bug. A new guard of a promise gets one here. */
export const mutants: readonly Mutant[] = [...operations, ...jobs, ...patterns, ...schema]

export function mutantNamed(name: string): Mutant {
  const found = mutants.find((mutant) => mutant.name === name)
  if (found !== undefined) return found
  throw new Error(`no mutant "${name}"; known: ${mutants.map((mutant) => mutant.name).join(', ')}`)
}
