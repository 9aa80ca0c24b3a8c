import { Sluice, type OperationStatus } from '../../index.ts'
import { exitCodes } from '../exit-codes.ts'
import { count } from '../figures.ts'
import { follow } from '../follow.ts'
import { interruptible } from '../interrupt.ts'
import { loadConfig } from '../config-file.ts'
import type { Output } from '../output.ts'
import { progressView, type ProgressView } from '../progress-view.ts'
import type { Shell } from '../shell.ts'
import { Accident } from './accident.ts'
import { Crew } from './crew.ts'
import { EventsTable } from './events.sql.ts'
import { lookAround } from './look-around.ts'
import { makePlace, type Place } from './place.ts'
import { demoLines, demoRecord, nextLines, verdictOf, type DemoResult } from './result.ts'
import { Standstill } from './standstill.ts'

/** What was asked of the demo. */
export interface DemoChoices {
  rows: number
  port: number | undefined
  keep: boolean
  dashboardPort: number
}

const workers = 2

/** Makes a place, shows the whole story there, tells how it went, and leaves no trace unless asked to. */
export async function runDemo(shell: Shell, { rows, port, keep, dashboardPort }: DemoChoices): Promise<void> {
  const { output, signal } = shell
  output.note('Starting a throw-away PostgreSQL …')
  await using place = await makePlace({ port, keep })
  const result = await interruptible(signal, () => perform(shell, place, rows))
  if (verdictOf(result) !== 'verified') process.exitCode = exitCodes.failed
  if (output.json) output.record(demoRecord(result))
  else tell(output, result)
  if (keep || !output.json) for (const line of nextLines(place, keep)) output.note(...line)
  if (keep) await lookAround(shell, place, dashboardPort)
}

function tell(output: Output, result: DemoResult): void {
  output.note()
  for (const line of demoLines(result)) output.data(...line)
}

async function perform(shell: Shell, place: Place, rows: number): Promise<DemoResult> {
  const { output } = shell
  const { url } = place
  const { config } = await loadConfig(place.folder, place.configFile)
  await using sluice = new Sluice({ ...config, database: url })
  await sluice.migrate()
  await using events = await EventsTable.connect(url)
  output.note(`Filling the table "events" with ${count(rows)} rows …`)
  await events.create(rows)
  const before = await events.count()
  output.note(
    `${count(before.aged)} of them are older than 90 days. Two workers delete these, and one will not survive.`,
  )
  const { status, accident } = await expireEvents(shell, sluice, place)
  return { rows, before, after: await events.count(), status, takeover: accident.takeover }
}

/** The operation itself, with two workers, of which one is lost half way. */
async function expireEvents(
  { output, signal }: Shell,
  sluice: Sluice,
  { configFile, url }: Place,
): Promise<{ status: OperationStatus; accident: Accident }> {
  const view: ProgressView = progressView(output, 1_000)
  const accident = new Accident((...line) => view.say(...line))
  await using crew = new Crew((line) => accident.hear(line))
  const { id } = await sluice.operations.startByName('expire-events')
  for (let n = 0; n < workers; n++) crew.hire({ configFile, url })
  const standstill = new Standstill()
  const onStatus = (status: OperationStatus): void => {
    if (crew.broken !== undefined) throw new Error(`The demo cannot go on: ${crew.broken}`)
    standstill.check(status)
    accident.consider(status, crew)
  }
  return { status: await follow(sluice, id, { view, signal, onStatus }), accident }
}
