import { defineConfig } from '../../src/index.ts'
import { appleRenewals } from './inboxes.ts'

export default defineConfig({ inboxes: [appleRenewals] })
