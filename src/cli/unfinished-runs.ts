import { didYouMean, type Sluice } from '../index.ts'
import type { Output } from './output.ts'
import type { Session } from './session.ts'
import { isOver } from './state-words.ts'

/** How many runs of a definition are not over. These come first in every list. */
export async function unfinishedRuns(sluice: Sluice, name: string): Promise<number> {
  return (await sluice.operations.list({ name, limit: 1_000 })).filter((status) => !isOver(status)).length
}

/** The kill switch takes any name, for code that is not here; a mistyped one would switch nothing. */
export function warnIfUnknown(
  output: Output,
  { names }: Session,
  { name, unfinished }: { name: string; unfinished: number },
): void {
  if (unfinished > 0 || names.length === 0 || names.includes(name)) return
  output.warn(`no operation of the configuration is named "${name}".${didYouMean(name, names)}`)
}
