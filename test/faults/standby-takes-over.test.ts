// A standby that takes over in place of a primary that is gone.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineJob, Sluice } from '../../src/index.ts'
import { claimByHand } from '../jobs/claim-by-hand.ts'
import { run } from '../support/cluster.ts'
import { testDatabase } from '../support/database.ts'
import { startPair } from '../support/replica.ts'
import { until } from '../support/wait.ts'

const settings = { fsync: 'off', synchronous_commit: 'off', max_connections: '50', shared_buffers: '64MB' }
const plain = defineJob({ name: 'plain', perform: () => undefined })

test('what was claimed on the primary is claimed on the standby that takes over, and what was remembered counts for nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-standby-'))
  try {
    await using pair = await startPair(folder, settings)
    const db = await testDatabase(pair.primary.url)
    const enqueueAt = async (url: string): Promise<number> => {
      await using sluice = new Sluice({ database: url, jobs: [plain] })
      return (await sluice.jobs.enqueue(plain)).id
    }
    const first = await enqueueAt(db.workerUrl)
    const kept = await claimByHand(db.workerUrl, 1)
    expect(kept.ids).toEqual([first])
    await until('the standby has all of it', async () => (await pair.lagBytes()) === 0)
    await pair.primary.stop('immediate')
    await run(pair.replica.url, 'select pg_promote()')
    const there = new URL(db.workerUrl)
    there.port = String(pair.replica.port)
    const second = await enqueueAt(there.href)
    const again = await claimByHand(there.href, 2, kept)
    expect(again.ids).toEqual([second])
    expect(again.life).not.toBe(kept.life)
    expect((await claimByHand(there.href, 3, again)).ids).toEqual([])
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
})
