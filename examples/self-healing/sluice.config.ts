import { defineConfig } from '../../src/index.ts'
import { activateAccount, reconcileAccounts } from './jobs.ts'

export default defineConfig({ jobs: [activateAccount, reconcileAccounts] })
