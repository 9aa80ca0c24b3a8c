/**
 * Another release of Sluice and this one on the same work, in turns: whether a change has made anything slower. Each is
 * its built package, and has its own schema.
 */
import { aligned, shown } from '../report.ts'
import { spread } from '../harness.ts'
import { bulkBenchmark, type BulkOutcome, type BulkSizes } from './bulk/bulk.ts'
import { releaseAt, sluiceWays } from './bulk/works.ts'
import type { Bench } from './jobs/bench.ts'
import { sluice } from './jobs/configurations.ts'
import type { Configuration } from './jobs/job-system.ts'
import { take, type Measure, type Taken } from './jobs/measure.ts'
import { drain } from './jobs/measures/drain.ts'
import { concurrentEnqueue } from './jobs/measures/enqueue.ts'
import { pickup } from './jobs/measures/pickup.ts'

/** What one piece of work showed. */
interface Compared {
  work: string
  unit: string
  before: number[]
  now: number[]
  /** Less of it is better. */
  isTime?: boolean
}

export interface ReleaseChoices {
  url: string
  /** The folder of the other release, which is built. */
  against: string
  bulk: BulkSizes
  jobs: Bench['sizes']
  only: readonly string[] | undefined
  say: (line: string) => void
}

const bulkKeys = ['oldest', 'scattered', 'full', 'foreground']
const jobKeys = ['drain', 'pickup', 'concurrentEnqueue']

/** Measures all works, or those that are named, one after the other, both releases in turns. */
export async function compareReleases({ url, against, bulk, jobs, only, say }: ReleaseChoices): Promise<Compared[]> {
  const other = await releaseAt(against)
  const unknown = only?.find((key) => ![...bulkKeys, ...jobKeys].includes(key))
  if (unknown !== undefined) throw new Error(`--only must name works: ${[...bulkKeys, ...jobKeys].join(', ')}`)
  const isMeant = (key: string): boolean => only === undefined || only.includes(key)
  const ways = { ...sluiceWays('before', other), ...sluiceWays('now') }
  const compared: Compared[] = []
  for (const key of bulkKeys.filter(isMeant)) {
    const measured = await bulkBenchmark({ url, sizes: bulk, only: [key], ways, say })
    compared.push(...measured.flatMap(fromBulk))
  }
  const bench: Bench = { postgres: url, redis: undefined, sizes: jobs, say }
  for (const measure of jobMeasures(bench, against).filter(({ key }) => isMeant(key)))
    compared.push(...fromJobs(await takeAll(measure, jobs.rounds, say)))
  return compared
}

/** The report, as Markdown. */
export function releasesReport(
  compared: readonly Compared[],
  about: { conditions: string[]; command: string },
): string {
  const facts = ['median [min..max] over interleaved rounds; the ratio is one of speeds, taken within each round']
  const lines = [...about.conditions, ...facts, `\`${about.command}\``].map((line) => `- ${line}`)
  const table = compared.map(({ work, unit, before, now, isTime = false }) => {
    const ratios = now.map((value, round) => {
      const other = before[round] ?? Number.NaN
      return isTime ? other / value : value / other
    })
    const digits = isTime ? 2 : 0
    return [work, unit, shown(spread(before), digits), shown(spread(now), digits), shown(spread(ratios), 2)]
  })
  const head = ['work', '', 'before', 'now', 'now ÷ before']
  return ['## releases: this one beside another', '', ...lines, '', ...aligned([head, ...table]), ''].join('\n')
}

function fromBulk({ measured, outcomes }: BulkOutcome): Compared[] {
  const speeds = (variant: string): number[] =>
    outcomes.find((outcome) => outcome.variant === variant)?.runs.map(({ rows, ms }) => (rows * 1_000) / ms) ?? []
  return Object.keys(sluiceWays('')).map((way) => ({
    work: `${measured.title}${way}`,
    unit: 'rows/s',
    before: speeds(`before${way}`),
    now: speeds(`now${way}`),
  }))
}

function jobMeasures(bench: Bench, against: string): Measure[] {
  const before: Configuration = { ...sluice, name: 'before', options: { ...sluice.options, release: against } }
  const both = [before, { ...sluice, name: 'now' }]
  return [
    drain(bench, both, before),
    pickup(bench, both, { graphile: before, bullmq: before }),
    concurrentEnqueue(bench, both, { silent: before, notifying: before }),
  ]
}

/** All readings, with their rounds. */
async function takeAll(
  measure: Measure,
  rounds: number,
  say: (line: string) => void,
): Promise<{ taken: Taken; readings: Map<string, Record<string, number>[]> }> {
  const readings = new Map<string, Record<string, number>[]>()
  const variants = measure.variants.map((variant) => ({
    name: variant.name,
    run: async () => {
      const reading = await variant.run()
      readings.set(variant.name, [...(readings.get(variant.name) ?? []), reading.values])
      return reading
    },
  }))
  return { taken: await take({ ...measure, variants }, rounds, say), readings }
}

function fromJobs({ taken: { title, key }, readings }: Awaited<ReturnType<typeof takeAll>>): Compared[] {
  const value = key === 'pickup' ? 'p50' : 'jobsPerSecond'
  const of = (variant: string): number[] => readings.get(variant)?.map((values) => values[value] ?? Number.NaN) ?? []
  const isTime = key === 'pickup'
  return [{ work: title, unit: isTime ? 'p50 ms' : 'jobs/s', before: of('before'), now: of('now'), isTime }]
}
