// The short form of `npm run torture -- replica`: a real replica that stands still in the middle of a run.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startPair } from '../support/replica.ts'
import { freezeReplica, wrongInReplica } from '../torture/replica/scenario.ts'

test('a replica that stands still holds the work until it has caught up', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-replica-'))
  const settings = { fsync: 'off', synchronous_commit: 'off', max_connections: '50', shared_buffers: '64MB' }
  try {
    await using pair = await startPair(folder, settings)
    const limits = { soft: 2 ** 20, hard: 24 * 2 ** 20, walBytesPerSecond: 4 * 2 ** 20 }
    const outcome = await freezeReplica({ pair, rows: 80_000, freezeMs: 1_000, ...limits })
    expect(wrongInReplica(outcome)).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
