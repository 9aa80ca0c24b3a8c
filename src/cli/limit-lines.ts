import type { Limits, OperationStatus } from '../index.ts'
import { count, percent } from './figures.ts'
import { labelledLines } from './layout.ts'
import type { Line } from './output.ts'

const words: { readonly [K in keyof Required<Limits>]: (limits: Required<Limits>) => [string, string] } = {
  lanes: ({ lanes }) => ['lanes', lanes === 'auto' ? lanes : count(lanes)],
  pace: ({ pace }) => ['pace', percent(pace)],
  subBatchSize: ({ subBatchSize }) => ['sub-batch size', count(subBatchSize)],
  priority: ({ priority }) => ['priority', priority],
  window: ({ window }) => ['window', window ?? 'none, it may run at any time'],
}

/** What was asked to change: old and new. */
export function limitLines(before: OperationStatus, after: OperationStatus, asked: Limits): Line[] {
  const pairs = Object.entries(words)
    .filter(([limit]) => limit in asked)
    .map(([, inWords]): [string, string] => {
      const [[label, old], [, now]] = [inWords(limitsRecord(before)), inWords(limitsRecord(after))]
      return [label, old === now ? `${now}, as before` : `${old} → ${now}`]
    })
  return [[['bold', after.name]], ...labelledLines(pairs)]
}

/** The limits of an operation for programs. */
export function limitsRecord(status: OperationStatus): Required<Limits> {
  const { lanes, mostLanes, pace, subBatchSize, priority, window } = status
  return { lanes: mostLanes === null ? lanes : 'auto', pace, subBatchSize, priority, window }
}
