import type { ScheduleStatus } from '../../index.ts'
import { whoOf, type Call, type Handlers } from '../handlers.ts'

const act =
  (verb: 'enable' | 'disable') =>
  async (call: Call<'schedules.enable' | 'schedules.disable'>): Promise<{ schedule: ScheduleStatus }> => {
    const { name, expectedState } = call.input
    return { schedule: await call.desk.act.schedules[verb](name, { ...whoOf(call), expectedState }) }
  }

export const schedules: Handlers<'schedules' | 'schedules.run' | 'schedules.enable' | 'schedules.disable'> = {
  async schedules({ desk: { look } }) {
    const found = (await look.schedules.list()).slice(0, 200)
    const withTicks = found.map(async (one) => ({ ...one, ticks: await look.schedules.ticks(one.name, { limit: 12 }) }))
    return { schedules: await Promise.all(withTicks) }
  },
  async 'schedules.run'(call) {
    return { tick: await call.desk.act.schedules.run(call.input.name, whoOf(call)) }
  },
  'schedules.enable': act('enable'),
  'schedules.disable': act('disable'),
}
