import type { Weight } from '../probe.ts'

/** How long our own sub-batches take. Their size follows the load; this is for when that is not enough. */
export const subBatchTime: Weight = {
  name: 'subBatchTime',
  title: 'time of a sub-batch',
  kind: 'gauge',
  effect: 'slow',
  yields: true,
  smooth: true,
  unit: 'ms',
  soft: 1_000,
  hard: 10_000,
}
