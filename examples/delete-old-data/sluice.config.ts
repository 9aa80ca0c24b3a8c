import { defineConfig } from '../../src/index.ts'
import { deleteOldData, hourly } from './jobs.ts'

export default defineConfig({ jobs: [deleteOldData], schedules: [hourly] })
