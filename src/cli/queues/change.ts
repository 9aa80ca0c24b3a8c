import type { QueueStatus } from '../../index.ts'
import type { Session } from '../session.ts'
import type { Shell } from '../shell.ts'
import { plural } from '../figures.ts'
import { rateText } from './rate.ts'

/** Where a change has left a queue. */
export async function tellQueue({ output }: Shell, sluice: Session['sluice'], name: string): Promise<void> {
  const queue = (await sluice.queues.list()).find((one) => one.name === name)
  if (queue === undefined) return
  if (output.json) return output.record({ queue })
  output.data(queue.paused ? ['yellow', '!'] : ['green', '✓'], ` ${sentenceOf(queue)}`)
}

function sentenceOf({ name, paused, rate, waiting, running }: QueueStatus): string {
  const state = paused ? 'paused' : rate === null ? 'open' : `open for ${rateText(rate)}`
  const limit = paused && rate !== null ? `, and open for ${rateText(rate)} when it is resumed` : ''
  return `queue ${name} is ${state}${limit}: ${plural(waiting, 'job waits', 'jobs wait')}, ${plural(running, 'runs', 'run')}`
}
