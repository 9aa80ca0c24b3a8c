import type { ScheduleStatus } from '../../index.ts'
import { contract } from '../contract.ts'
import { whoOf, type Call, type Handlers } from '../handlers.ts'
import { includes, RoleMissing } from '../roles.ts'

const act =
  (verb: 'enable' | 'disable') =>
  async (call: Call<'schedules.enable' | 'schedules.disable'>): Promise<{ schedule: ScheduleStatus }> => {
    const { name, expectedState } = call.input
    return { schedule: await call.desk.act.schedules[verb](name, { ...whoOf(call), expectedState }) }
  }

export const schedules: Handlers<'schedules' | 'schedules.run' | 'schedules.enable' | 'schedules.disable'> = {
  async schedules({ desk: { look } }) {
    const found = (await look.schedules.list()).slice(0, 200)
    const names = found.map(({ name }) => name)
    const ticks = await look.schedules.ticks(names, { limit: 12 })
    return { schedules: found.map((one) => ({ ...one, ticks: ticks.filter(({ schedule }) => schedule === one.name) })) }
  },
  async 'schedules.run'(call) {
    const { visitor, desk, input } = call
    // Whoever may not start an operation may not have a schedule start it, either.
    const { role } =
      contract[desk.act.schedules.target(input.name).kind === 'operation' ? 'operations.start' : 'jobs.run']
    if (!includes(visitor.role, role)) throw new RoleMissing(role, visitor.role)
    return { tick: await desk.act.schedules.run(input.name, whoOf(call)) }
  },
  'schedules.enable': act('enable'),
  'schedules.disable': act('disable'),
}
