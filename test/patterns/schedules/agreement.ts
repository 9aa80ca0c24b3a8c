import fc from 'fast-check'
import { ticksBetween, type ClockChange } from '../../../src/patterns/schedules/calendar.ts'
import { slowTicks } from './reference.ts'

const zones = [
  'UTC',
  'Europe/Berlin',
  'Europe/London',
  'America/New_York',
  'America/St_Johns',
  'America/Havana',
  'America/Sao_Paulo',
  'Australia/Lord_Howe',
  'Pacific/Chatham',
  'Pacific/Apia',
  'Africa/Casablanca',
  'Antarctica/Troll',
  'Asia/Kolkata',
]

const number = (least: number, most: number): fc.Arbitrary<string> => fc.integer({ min: least, max: most }).map(String)

const field = (least: number, most: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.constant('*'),
    number(least, most),
    fc.integer({ min: 2, max: Math.ceil(most / 2) }).map((step) => `*/${step}`),
    fc.tuple(fc.integer({ min: least, max: most }), fc.integer({ min: least, max: most })).map(([a, b]) => {
      return `${Math.min(a, b)}-${Math.max(a, b)}`
    }),
    fc.uniqueArray(fc.integer({ min: least, max: most }), { minLength: 2, maxLength: 3 }).map((some) => some.join(',')),
  )

const pattern = fc
  .tuple(
    field(0, 59),
    // Clocks are changed in the small hours.
    fc.oneof({ weight: 2, arbitrary: field(0, 4) }, field(0, 23)),
    fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, field(1, 28)),
    fc.oneof({ weight: 6, arbitrary: fc.constant('*') }, field(1, 12)),
    fc.oneof({ weight: 4, arbitrary: fc.constant('*') }, field(0, 6)),
  )
  .map((fields) => fields.join(' '))

/** Moments of years in which the zones have changed their clocks, half of them on the day of a change in some zone. */
const moment = fc.oneof(
  fc.date({ min: new Date('2011-12-01'), max: new Date('2025-12-31'), noInvalidDate: true }),
  fc
    .tuple(
      fc.constantFrom('2025-03-30', '2025-10-26', '2024-03-10', '2024-11-03', '2024-04-06', '2024-10-05', '2011-12-30'),
      fc.integer({ min: -86_400_000, max: 86_400_000 }),
    )
    .map(([day, shift]) => new Date(Date.parse(day) + shift)),
)

const clockChange: fc.Arbitrary<ClockChange> = fc.record(
  { leftOut: fc.constantFrom('run', 'skip'), repeated: fc.constantFrom('first', 'second', 'both') },
  { requiredKeys: [] },
)

/** The tick function and the slow way give the same ticks. */
export const agreesWithSlowTicks: fc.IProperty<[string, string, Date, number, ClockChange]> = fc.property(
  pattern,
  fc.constantFrom(...zones),
  moment,
  fc.integer({ min: 1, max: 40 }),
  clockChange,
  (cron, zone, after, hours, change) => {
    const upTo = new Date(after.getTime() + hours * 3_600_000)
    const fast = ticksBetween({ rule: { cron }, zone, clockChange: change }, after, upTo).map((tick) =>
      tick.toISOString(),
    )
    const slow = slowTicks({ rule: { cron }, zone, clockChange: change }, after, upTo).map((tick) => tick.toISOString())
    if (fast.join() !== slow.join()) throw new Error(`fast ${fast.join(' ')}; slow ${slow.join(' ')}`)
  },
)
