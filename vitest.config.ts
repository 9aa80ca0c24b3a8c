import { defineConfig, type Plugin } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * From source, the thread that renews leases needs a loader for TypeScript, which takes most of a second each time; the
 * built one is the same and does not. It is built before the tests begin.
 */
const builtThread: Plugin = {
  name: 'built-thread',
  enforce: 'pre',
  transform(code, id) {
    if (!id.endsWith('/src/runtime/renewal-thread.ts')) return undefined
    const built = new URL('dist/runtime/renewal-thread.js', import.meta.url).href
    return code.replaceAll('import.meta.url', JSON.stringify(built))
  },
}

const isLong = ({ moduleId }: TestSpecification): boolean =>
  /\/test\/(e2e|operations\/(lifecycle|model|worker)|jobs\/crash|dashboard\/(browser|hostile)|schedules\/keep|cli\/demo)/.test(
    moduleId,
  )

/** The files that take longest, by waiting for leases to end, begin first: at the end nothing would run beside them. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return Promise.resolve([...files.filter(isLong), ...files.filter((file) => !isLong(file))])
  }
}

export default defineConfig({
  plugins: [builtThread],
  test: {
    include: ['test/**/*.test.ts', 'examples/**/*.test.ts'],
    exclude: ['test/mutants/**'],
    globalSetup: 'test/support/global-setup.ts',
    pool: 'forks',
    // Most of a short test file is the loading of modules; they keep no state.
    isolate: false,
    unstubEnvs: true,
    maxWorkers: 5,
    sequence: { sequencer: LongestFirst },
    testTimeout: 120_000,
    hookTimeout: 60_000,
    reporters: ['default'],
  },
})
