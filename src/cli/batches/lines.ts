import type { BatchCallback, BatchStatus, FailedMember } from '../../index.ts'
import { ago, count, moment, plural } from '../figures.ts'
import { headLines, labelledLines, oneLine, tableLines, type Column } from '../layout.ts'
import type { Line, Part } from '../output.ts'

type Row = readonly [label: string, text: Part]

const columns: readonly Column[] = [
  { title: 'id', align: 'right' },
  { title: 'state' },
  { title: 'members', align: 'right' },
  { title: 'waiting', align: 'right' },
  { title: 'failed', align: 'right' },
  { title: 'since', align: 'right', dispensable: 1 },
  { title: 'description', least: 12, dispensable: 2 },
]

/** Batches of jobs in a table, one line each. */
export function batchTable(batches: readonly BatchStatus[], now: Date, width?: number): Line[] {
  return tableLines(
    columns,
    batches.map((batch) => [
      String(batch.id),
      statePart(batch),
      count(batch.total),
      count(batch.waiting),
      batch.failed === 0 ? '0' : ['red', count(batch.failed)],
      ago(now.getTime() - (batch.finishedAt ?? batch.openedAt).getTime()),
      batch.description ?? '',
    ]),
    width,
  )
}

/** All about a batch of jobs. */
export function batchLines(batch: BatchStatus & { failures: readonly FailedMember[] }, width?: number): Line[] {
  const { id, parentId, description, callbacks, failures, reason } = batch
  const rows: Row[] = [
    ['id', parentId === null ? String(id) : `${id}, inside of ${parentId}`],
    ['state', statePart(batch)],
    ...(description === null ? [] : [['description', description] satisfies Row]),
    ['members', membersText(batch)],
    ...(reason === null ? [] : [['reason', reason] satisfies Row]),
    ...callbacks.map((callback): Row => [callback.kind, callbackText(callback)]),
    ['time', timeText(batch)],
    ...(failures.length === 0 ? [] : [['failed', ['red', failuresText(failures)]] satisfies Row]),
  ]
  return [...headLines(sentenceOf(batch), width), ...labelledLines(rows, width)]
}

/** How far a batch of jobs is, in one sentence. */
export function sentenceOf({ id, state, total, waiting, failed, reason }: BatchStatus): string {
  const who = `batch of jobs ${id}`
  switch (state) {
    case 'open':
      return `${who} is open: ${plural(total, 'member')} so far, ${count(waiting)} not ended`
    case 'sealed':
      return `${who} waits for ${count(waiting)} of ${plural(total, 'member')}`
    case 'cancelling':
      return `${who} is cancelled, and ${plural(waiting, 'member still runs', 'members still run')}: ${oneLine(reason ?? '')}`
    case 'succeeded':
      return `${who} succeeded with ${plural(total, 'member')}`
    case 'failed':
      return `${who} is over, and ${count(failed)} of ${plural(total, 'member')} did not succeed`
    case 'cancelled':
      return `${who} was cancelled: ${oneLine(reason ?? '')}`
  }
}

function statePart({ state }: BatchStatus): Part {
  if (state === 'failed') return ['red', state]
  if (state === 'succeeded') return ['green', state]
  return state === 'cancelled' || state === 'cancelling' ? ['yellow', state] : state
}

function membersText({ total, waiting, succeeded, failed }: BatchStatus): string {
  return `${count(total)}: ${count(waiting)} not ended, ${count(succeeded)} succeeded, ${count(failed)} failed`
}

function callbackText({ name, jobId, at }: BatchCallback): string {
  return jobId === null
    ? `${name}, not called`
    : `${name}, called as job ${jobId}${at === null ? '' : ` ${moment(at)}`}`
}

function timeText({ openedAt, sealedAt, finishedAt }: BatchStatus): string {
  const sealed = sealedAt === null ? '' : `, sealed ${moment(sealedAt)}`
  return `opened ${moment(openedAt)}${sealed}${finishedAt === null ? '' : `, over ${moment(finishedAt)}`}`
}

function failuresText(failures: readonly FailedMember[]): string {
  const shown = failures.slice(0, 10).map(({ id, name, state }) => `${name} ${id} (${state})`)
  return `${shown.join(', ')}${failures.length > shown.length ? ' … (more with --json)' : ''}`
}
