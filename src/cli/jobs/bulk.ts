import type { BulkAction, JobQuery, JobState } from '../../index.ts'
import { confirmByWord } from '../confirm.ts'
import { count, plural } from '../figures.ts'
import type { Session } from '../session.ts'
import type { Shell } from '../shell.ts'
import { whoOf } from '../who.ts'
import { filterText, queryOf, statesText, type FilterOptions } from './filter.ts'

/** Options of a verb on many jobs. */
export interface BulkOptions extends FilterOptions {
  yes?: boolean
  actor?: string
}

const doing: Readonly<Record<BulkAction, string>> = {
  retry: 'retries',
  run: 'runs now',
  cancel: 'cancels',
  discard: 'discards',
}

/** Starts the job that does a verb to all jobs of a filter, once a person has said yes. */
export async function actOnAll(
  shell: Shell,
  sluice: Session['sluice'],
  { verb, usual, options }: { verb: BulkAction; usual: readonly JobState[]; options: BulkOptions },
): Promise<void> {
  const { output } = shell
  const query = queryOf(options, options.state ?? usual)
  const { jobs: matching, more } = await sluice.jobs.count(query)
  const found = { matching, more }
  const which = `${statesText(query.states ?? [])} ${matching === 1 ? 'job' : 'jobs'}${filterText(query)}`
  if (matching === 0) {
    if (output.json) return output.record({ id: null, ...found })
    return output.note(`There are no ${which}: nothing to ${verb}.`)
  }
  const number = `${more ? 'more than ' : ''}${count(matching)}`
  const warning = `This ${doing[verb]} ${number} ${which}.`
  if (options.yes !== true) await confirmByWord(shell, { word: wordOf(query), warning })
  const { id } = await sluice.jobs.bulk(verb, query, whoOf(options))
  await tell(shell, sluice, { id, ...found })
}

/** What narrows it down most is what a person should have read. */
function wordOf({ name, queue, tag }: JobQuery): string {
  return name ?? tag ?? queue ?? 'all'
}

async function tell(
  { output }: Shell,
  sluice: Session['sluice'],
  { id, matching, more }: { id: number; matching: number; more: boolean },
): Promise<void> {
  if (output.json) return output.record({ id, matching, more })
  output.data(String(id))
  const { parked } = await sluice.jobs.get(id)
  output.note(`Job ${id} does it in the background, to ${more ? 'all of them' : plural(matching, 'job')}.`)
  if (parked) output.warn('no worker is running that could do it. Start one with: sluice worker')
  output.note(`  watch it:  sluice jobs show ${id}`)
  output.note(`  stop it:   sluice jobs cancel ${id}`)
}
