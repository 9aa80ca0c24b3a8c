import { whoOf, type Handlers } from '../handlers.ts'
import { checkState } from './jobs.ts'

export const batches: Handlers<'batches' | 'batches.get' | 'batches.cancel'> = {
  async batches({ input, desk }) {
    return desk.look.batches.list({ ...input, before: input.before ?? null })
  },
  async 'batches.get'({ input: { id }, desk }) {
    return { batch: await desk.look.batches.get(id) }
  },
  async 'batches.cancel'(call) {
    const { id, expectedState } = call.input
    const { batches: book } = call.desk.act
    checkState(`Batch ${id}`, (await book.get(id)).state, expectedState)
    const { actor, reason } = whoOf(call)
    return { batch: await book.cancel(id, { reason: reason ?? `by ${actor}` }) }
  },
}
