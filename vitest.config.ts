import { existsSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { configDefaults, defineConfig, type Plugin, type TestProjectConfiguration } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

const [src, dist] = ['src/', 'dist/'].map((folder) => new URL(folder, import.meta.url).pathname) as [string, string]

/**
 * Tests import the source, and get what was built of it before they began: loaded by Node.js itself, which takes a
 * fraction of the time, and the same code that worker processes run and users get.
 */
const builtSource: Plugin = {
  name: 'built-source',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !source.startsWith('.')) return undefined
    const path = new URL(source, pathToFileURL(importer)).pathname
    if (!path.startsWith(src)) return undefined
    const built = `${dist}${path.slice(src.length).replace(/\.ts$/, '.js')}`
    return existsSync(built) ? built : undefined
  },
}

const isLong = ({ moduleId }: TestSpecification): boolean =>
  /\/(test\/(faults\/(schedules|operations|job-recovery)|operations\/(lifecycle|model|worker|fairness)|patterns\/schedules\/keep|jobs\/(queues|control))|examples\/expire-events)/.test(
    moduleId,
  )

/** The files that take longest begin first: at the end nothing would run beside them. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve([...files.filter(isLong), ...files.filter((file) => !isLong(file))])
  }
}

const faults = 'test/faults/**/*.test.ts'
const browser = 'test/browser/**/*.test.ts'

const project = (name: string, include: string[], exclude: string[] = []): TestProjectConfiguration => ({
  extends: true,
  test: { name, include, exclude: [...configDefaults.exclude, ...exclude] },
})

export default defineConfig({
  plugins: [builtSource],
  test: {
    projects: [
      // npm test
      project('main', ['test/**/*.test.ts', 'examples/**/*.test.ts'], [faults, browser]),
      // npm run test:faults: processes and servers are killed, stopped, cut off and restarted.
      project('faults', [faults]),
      // npm run test:benchmarks: each scenario with little data, so that none rots.
      project('benchmarks', ['benchmarks/**/*.test.ts']),
      // npm run test:browser
      project('browser', [browser]),
    ],
    globalSetup: 'test/support/global-setup.ts',
    server: { deps: { external: [/\/dist\//] } },
    pool: 'forks',
    // Most of a short test file is the loading of modules; they keep no state.
    isolate: false,
    unstubEnvs: true,
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    // The last resort. What a test waits for has limits of its own, which scale with the machine: test/support/patience.ts.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    reporters: ['default'],
  },
})
