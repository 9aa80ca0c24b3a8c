import { SluiceError, type Duration, type QueueStatus, type Sluice } from '../../index.ts'
import { whoOf, type Call, type Handlers } from '../handlers.ts'

async function queueOf(sluice: Sluice, name: string): Promise<QueueStatus> {
  const queue = (await sluice.queues.list()).find((one) => one.name === name)
  if (queue !== undefined) return queue
  throw new SluiceError('QUEUE_NOT_FOUND', { message: 'There is no such queue any more. Look at the list again.' })
}

const act =
  (verb: 'pause' | 'resume') =>
  async (call: Call<'queues.pause' | 'queues.resume'>): Promise<{ queue: QueueStatus }> => {
    const { name, expectedState } = call.input
    const { act: sluice } = call.desk
    await sluice.queues[verb](name, { ...whoOf(call), expectedState })
    return { queue: await queueOf(sluice, name) }
  }

export const queues: Handlers<'queues' | 'queues.pause' | 'queues.resume' | 'queues.limit'> = {
  async queues({ desk }) {
    return { queues: await desk.look.queues.list() }
  },
  'queues.pause': act('pause'),
  'queues.resume': act('resume'),
  async 'queues.limit'(call) {
    const { name, limit, per } = call.input
    const { act: sluice } = call.desk
    const rate = limit === undefined ? null : { limit, per: (per ?? '1m') as Duration }
    await sluice.queues.limit(name, rate, whoOf(call))
    return { queue: await queueOf(sluice, name) }
  },
}
