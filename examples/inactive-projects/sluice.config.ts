import pg from 'pg'
import { defineConfig } from '../../src/index.ts'
import { FakeMailSender } from './mail.ts'
import { deleteWarnedProjects, warnInactiveProjects } from './operations.ts'

const database = new pg.Pool({ connectionString: process.env['DATABASE_URL'], max: 2, allowExitOnIdle: true })

// In your own project the sender is that of your mail provider.
export default defineConfig({
  operations: [warnInactiveProjects({ mail: new FakeMailSender(), database }), deleteWarnedProjects],
})
