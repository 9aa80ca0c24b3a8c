import type { JSX } from 'preact'
import type { Operation } from './operation-verbs.tsx'

/** Drawn from samples. */
export function OperationCharts(_: {
  operation: Operation
  marks: readonly { at: string; to: string }[]
}): JSX.Element | null {
  return null
}
