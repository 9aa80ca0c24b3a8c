import type { Duration, ScheduleDefinition, ScheduleTick, Sluice } from '../index.ts'

/** Tools for tests of schedules; see {@link testSchedules}. */
export class TestSchedules {
  readonly #sluice: Sluice

  constructor(sluice: Sluice) {
    this.#sluice = sluice
  }

  /** The ticks of a schedule after one moment, up to and with another. Asks no database. */
  ticksOf(definition: ScheduleDefinition, span: { after: Date; upTo: Date }): Date[] {
    return this.#sluice.scheduleBench.ticksOf(definition, span)
  }

  /**
   * Lets so much time pass for a schedule: its ticks of that span before now are due, and are settled here as a worker
   * does it. Gives what became of them, oldest first. The jobs are enqueued, not run.
   */
  async pass(definition: ScheduleDefinition, duration: Duration): Promise<ScheduleTick[]> {
    return this.#sluice.scheduleBench.pass(definition, duration)
  }
}

/**
 * Tools for tests of the schedules of an application. Give it a `Sluice` that is not started, on a
 * database for tests; any other is refused.
 *
 * @example
 * ```ts
 * const schedules = testSchedules(new Sluice({ database: process.env.TEST_DATABASE_URL, schedules: [hourlyTidy] }))
 *
 * test('tidies up every hour', async () => {
 *   expect(await schedules.pass(hourlyTidy, '1h')).toMatchObject([{ outcome: 'started' }])
 * })
 * ```
 */
export function testSchedules(sluice: Sluice): TestSchedules {
  return new TestSchedules(sluice)
}
