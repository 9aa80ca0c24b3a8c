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
    const names = found.map(({ name }) => name)
    const ticks = await look.schedules.ticks(names, { limit: 12 })
    return { schedules: found.map((one) => ({ ...one, ticks: ticks.filter(({ schedule }) => schedule === one.name) })) }
  },
  async 'schedules.run'(call) {
    return { tick: await call.desk.act.schedules.run(call.input.name, whoOf(call)) }
  },
  'schedules.enable': act('enable'),
  'schedules.disable': act('disable'),
}
