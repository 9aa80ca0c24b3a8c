import { defineConfig } from '../../src/index.ts'
import { createDatabase, pendingDatabases } from './jobs.ts'

export default defineConfig({ jobs: [createDatabase], reconcilers: [pendingDatabases] })
