import { S3Client } from '@aws-sdk/client-s3'
import { defineConfig } from '../../src/index.ts'
import { expirePastes, removeContents } from './sweeps.ts'

// One attempt: Sluice repeats, counts failures and holds the sweep when the store is down.
const s3 = new S3Client({ region: process.env['AWS_REGION'] ?? 'eu-central-1', maxAttempts: 1 })

export default defineConfig({
  sweeps: [expirePastes, removeContents(s3, process.env['PASTES_BUCKET'] ?? 'pastes')],
})
