import type { Command } from 'commander'
import { formatDuration, type Standstill } from '../index.ts'
import type { Line } from './output.ts'
import { withSluice } from './session.ts'
import type { Shell } from './shell.ts'
import { whoOf, type WhoOptions } from './who.ts'

/** A definition by its name, or all of them. */
export interface AllOptions extends WhoOptions {
  all?: boolean
}

/** Either a name or --all: both, or neither, is a mistake. */
export function checkChoice(command: Command, name: string | undefined, { all = false }: AllOptions): void {
  if (all === (name !== undefined)) command.error('error: name one operation, or say --all')
}

export async function disableAll(shell: Shell, options: AllOptions): Promise<void> {
  await withSluice(shell, { options }, async ({ sluice }) => {
    const standstill = await sluice.operations.disableAll(whoOf(options))
    if (shell.output.json) return shell.output.record({ standstill })
    shell.output.data(['yellow', '!'], ' all operations are disabled: none works until they are enabled')
    shell.output.note('What runs stops after its current sub-batch. Let them go on with: sluice ops enable --all')
  })
}

export async function enableAll(shell: Shell, options: AllOptions): Promise<void> {
  await withSluice(shell, { options }, async ({ sluice }) => {
    const ended = await sluice.operations.enableAll(whoOf(options))
    if (shell.output.json) return shell.output.record({ standstill: null, ended })
    const said = ended ? ' operations are enabled: each goes on where it stands' : ' operations were not disabled'
    shell.output.data(['green', '\u2713'], said)
  })
}

/** Who has disabled all operations, why, and since when. */
export function standstillLine({ reason, actor, since }: Standstill, now: Date): Line {
  const by = actor === null ? '' : ` by ${actor}`
  const ago = formatDuration(Math.max(0, now.getTime() - since.getTime()))
  const why = reason === null ? '' : `: ${reason}`
  return [['yellow', '!'], ` all operations are disabled${by} for ${ago} now${why}`]
}
