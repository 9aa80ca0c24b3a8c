import { formatDuration, type OperationStatus } from '../../index.ts'
import { count, percent, plural } from '../figures.ts'
import { statusRecord } from '../operation-lines.ts'
import type { Line } from '../output.ts'
import { tookMs } from '../sentence.ts'
import { stateText } from '../state-words.ts'
import type { Takeover } from './accident.ts'
import type { Census } from './events.sql.ts'
import type { Place } from './place.ts'

/** All that a demo has found. */
export interface DemoResult {
  rows: number
  before: Census
  after: Census
  status: OperationStatus
  takeover: Takeover | undefined
}

/** What the verdict rests on. */
export interface Outcome extends Pick<DemoResult, 'before' | 'after'> {
  status: Pick<OperationStatus, 'state' | 'rowsChanged' | 'error'>
}

/** `verified`, or what plain SQL found wrong with the outcome. */
export function verdictOf({ before, after, status }: Outcome): string {
  if (status.state !== 'finished')
    return `the operation ${stateText(status.state)}: ${status.error?.message ?? 'no reason was recorded'}`
  if (after.aged > 0) return `${count(after.aged)} aged rows are still there`
  if (after.fresh !== before.fresh)
    return `there were ${count(before.fresh)} fresh rows and now there are ${count(after.fresh)}`
  if (after.freshIds !== before.freshIds) return 'the fresh rows are not the same ones as before'
  if (status.rowsChanged !== before.aged)
    return `Sluice counted ${count(status.rowsChanged)} rows, not ${count(before.aged)}`
  return 'verified'
}

/** The result in a few lines. */
export function demoLines(result: DemoResult): Line[] {
  const { before, status, rows, takeover } = result
  const took = tookMs(status)
  const verdict = verdictOf(result)
  if (verdict !== 'verified') return [[['red', '✗ not verified: '], verdict]]
  return [
    [
      ['green', '✓ deleted  '],
      ` ${count(status.rowsChanged)} of ${count(rows)} rows in ${formatDuration(took)}, ${count((status.rowsSeen * 1_000) / Math.max(1, took))} rows walked/s, ${plural(status.batchesFinished, 'batch', 'batches')}`,
    ],
    takeoverLine(takeover),
    [['green', '✓ verified '], ` with SQL: 0 aged rows left, the same ${count(before.fresh)} fresh rows as before`],
  ]
}

/** The result for programs. */
export function demoRecord(result: DemoResult): Record<string, unknown> {
  const { before, after, status, rows, takeover } = result
  return {
    verdict: verdictOf(result),
    rows,
    before,
    after,
    takeover: takeover ?? null,
    operation: statusRecord(status),
  }
}

/** What to do after the demo. The password of a database that was kept stays in its file. */
export function nextLines({ folder, postgres }: Pick<Place, 'folder' | 'postgres'>, keep: boolean): Line[] {
  const next = 'Next: run "sluice init" in your project'
  if (!keep) return [[], [`${next}, or "sluice demo --keep" to look around in the dashboard.`]]
  const { pid, port } = postgres
  return [
    [],
    [['bold', 'Kept: '], `postgres://postgres@127.0.0.1:${port}/postgres, process ${pid}`],
    [`  look at it   cd ${folder}`],
    ['               sluice doctor'],
    [`               PGPASSWORD=$(cat postgres/cluster/password) psql -h 127.0.0.1 -p ${port} -U postgres`],
    [`  stop it      kill -INT ${pid}`],
    [`  remove it    rm -r ${folder}`],
    [`${next}.`],
  ]
}

function takeoverLine(takeover: Takeover | undefined): Line {
  if (takeover === undefined)
    return [['yellow', '! survived '], ' no worker was killed, the work was over too soon: try more --rows']
  const { pid, at, batch, takenOverAfterMs } = takeover
  const killed = ` worker ${pid} killed at ${percent(at)}`
  if (takenOverAfterMs === undefined) return [['green', '✓ survived '], `${killed}; the other went on alone`]
  return [
    ['green', '✓ survived '],
    `${killed}; its batch ${batch} taken over at the checkpoint after ${formatDuration(takenOverAfterMs)}`,
  ]
}
