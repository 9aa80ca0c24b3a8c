import { defineConfig } from '../../src/index.ts'
import { deleteOldData } from './jobs.ts'

export default defineConfig({ jobs: [deleteOldData] })
