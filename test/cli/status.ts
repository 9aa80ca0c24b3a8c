import type { OperationStatus } from '../../src/index.ts'

/** A moment of the tests. */
export const at = (ms: number): Date => new Date(1_700_000_000_000 + ms)

/** An operation half way, but for what is given. */
export function statusOf(given: Partial<OperationStatus> = {}): OperationStatus {
  return {
    id: '0',
    name: 'expire-events',
    args: null,
    tenant: null,
    actor: null,
    state: 'active',
    reason: null,
    disabled: false,
    standstill: null,
    parked: false,
    priority: 'normal',
    lanes: 2,
    mostLanes: null,
    pace: 1,
    window: null,
    subBatchSize: 100,
    tunedSize: null,
    walk: { kind: 'key', index: null, columns: ['id'], says: 'along the key (id)' },
    table: 'public.events',
    rowsSeen: 250_000,
    rowsMatched: 150_000,
    rowsChanged: 150_000,
    rowsSkipped: 0,
    rowsQuarantined: 0,
    rowsEstimate: 500_000,
    progress: 0.5,
    eta: { lowMs: 3_100, highMs: 7_800 },
    pastEstimate: false,
    batchesFinished: 12,
    batches: [{ batch: 13, state: 'running', workerId: 'w', leaseMs: 2_000 }],
    limitedBy: '1 of 2 lanes at work',
    hint: null,
    error: null,
    createdAt: at(0),
    startedAt: at(0),
    finishedAt: null,
    asOf: at(5_000),
    ...given,
  }
}
