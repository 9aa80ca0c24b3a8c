import { whoOf, type Handlers } from '../handlers.ts'

export const batches: Handlers<'batches' | 'batches.get' | 'batches.cancel'> = {
  async batches({ input, desk }) {
    return desk.look.batches.list({ ...input, before: input.before ?? null })
  },
  async 'batches.get'({ input: { id }, desk }) {
    return { batch: await desk.look.batches.get(id) }
  },
  async 'batches.cancel'(call) {
    const { id, expectedState } = call.input
    return { batch: await call.desk.act.batches.cancel(id, { ...whoOf(call), expectedState }) }
  },
}
