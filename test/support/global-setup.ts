import { execFileSync } from 'node:child_process'
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { measurePatience } from './patience.ts'

declare module 'vitest' {
  interface ProvidedContext {
    clusterUrl: string
  }
}

/**
 * Builds the package once and boots one server for the whole run; each test clones its own database. Runs that follow
 * each other closely share a server that is running: `SLUICE_TEST_SERVER` is its address.
 */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  await measurePatience()
  if (process.env['SLUICE_TEST_BUILT'] === undefined) {
    execFileSync(process.execPath, ['scripts/build.js'], { stdio: 'inherit' })
    // Several kinds of tests in one run are set up one after the other.
    process.env['SLUICE_TEST_BUILT'] = '1'
  }
  // It brings what was built, and so comes after the build.
  const { fastestFolder, makeOtherTemplate, startCluster } = await import('./cluster.ts')
  const running = process.env['SLUICE_TEST_SERVER']
  if (running !== undefined) {
    await makeOtherTemplate(running)
    project.provide('clusterUrl', running)
    return () => Promise.resolve()
  }
  const folder = await mkdtemp(join(await fastestFolder(), 'sluice-test-'))
  await chmod(folder, 0o755)
  if (process.env['SLUICE_TEST_SEED'] === undefined) {
    // What every server of the tests begins with, so that it is made only once.
    const first = join(folder, 'first')
    await mkdir(first)
    await (await startCluster(first)).stop()
    process.env['SLUICE_TEST_SEED'] = join(first, 'postgres')
  }
  const cluster = await startCluster(folder)
  project.provide('clusterUrl', cluster.url)
  return async () => {
    await cluster.stop('immediate')
    await rm(folder, { recursive: true, force: true })
  }
}
