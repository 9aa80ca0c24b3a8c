import base from './vitest.config.ts'

/** Planted bugs, each of which must be caught by the torture that it is for. */
export default { ...base, test: { ...base.test, include: ['test/mutants/**/*.test.ts'], exclude: [] } }
