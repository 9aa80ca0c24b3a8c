import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Step } from './step.ts'
import { findConfig } from '../config-file.ts'

const starter = `import { defineConfig, expire } from 'sluice'

// Deletes the rows of "events" that are older than 90 days, in small transactions that a crash cannot hurt.
// Put the name of your own table and of its timestamp column here. For changes that are no deletions,
// use defineOperation instead of expire.
const expireEvents = expire({
  name: 'expire-events',
  table: 'events',
  olderThan: '90 days',
  by: 'created_at',
})

export default defineConfig({
  // The database comes from DATABASE_URL. Without that an embedded PostgreSQL in .sluice/ is used, for development.
  operations: [expireEvents],
})

// How to go on:
//   sluice migrate                          makes the tables of Sluice
//   sluice worker                           works until it is stopped; start as many as you like
//   sluice ops start expire-events --wait   starts the operation and shows its progress
`

/** Writes the configuration file, unless there is one of any kind. */
export async function writeConfig(folder: string): Promise<Step> {
  const found = await findConfig(folder)
  if (found !== undefined) return { file: found, done: 'kept', what: 'your configuration' }
  const file = join(folder, 'sluice.config.ts')
  await writeFile(file, starter, { flag: 'wx' })
  return { file, done: 'created', what: 'with an example operation' }
}
