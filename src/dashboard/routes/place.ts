import { version } from '../../index.ts'
import { whoOf, type Handlers } from '../handlers.ts'

export const place: Handlers<'session' | 'machines' | 'workers' | 'workers.drain' | 'health' | 'about'> = {
  async session({ visitor, desk: { look, surroundings } }) {
    return { ...visitor, ...surroundings, ...(await look.operations.records.place()), version }
  },
  async machines({ desk: { look } }) {
    const shown = look.machines.list().map(async ({ name, table, states }) => {
      try {
        return { ...(await look.machines.show(name)), problem: null }
      } catch (error) {
        // One table that is missing must not hide the other machines.
        const none = { counted: 'exact' as const, states: states.map((state) => ({ state, rows: 0, to: [] })) }
        return { name, table, ...none, unknown: [], graph: '', problem: error instanceof Error ? error.message : '' }
      }
    })
    return { machines: await Promise.all(shown) }
  },
  async workers({ desk }) {
    return { workers: await desk.look.workers() }
  },
  async 'workers.drain'(call) {
    const { id, expectedState } = call.input
    const { act } = call.desk
    await act.drain(id, { ...whoOf(call), expectedState })
    return { workers: await act.workers() }
  },
  async health({ desk }) {
    const [findings, alerts] = await Promise.all([desk.look.doctor(), desk.look.alerts.list()])
    return { findings, alerts }
  },
  async about({ desk: { look, surroundings } }) {
    const { environment } = surroundings
    const pendingMigrations = await look.pendingMigrations()
    return {
      version,
      node: process.versions.node,
      ...(await look.operations.records.place()),
      pendingMigrations,
      environment,
    }
  },
}
