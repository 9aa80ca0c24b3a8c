// npm run storm [-- --jobs 10000]: many jobs fail at once; when do they come back, with and without jitter?
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startCluster } from '../../support/cluster.ts'
import { testDatabase } from '../../support/database.ts'
import { fullest, histogram, retryStorm } from './storm.ts'

const { values } = parseArgs({ options: { jobs: { type: 'string', default: '10000' } } })
const jobs = Number(values.jobs)
const folder = await mkdtemp(join(tmpdir(), 'sluice-storm-'))
const cluster = await startCluster(folder)
try {
  await using db = await testDatabase(cluster.url)
  for (const jitter of [0, 0.5]) {
    const spread = await retryStorm(db, { jobs, jitter })
    process.stdout.write(
      `\n${jobs} jobs fail at once; first retry after 30 s, jitter ${jitter}: ` +
        `${(fullest(spread) * 100).toFixed(1)} % of them in the fullest second\n\n${histogram(spread)}\n`,
    )
  }
} finally {
  await cluster.stop('immediate')
  await rm(folder, { recursive: true, force: true })
}
