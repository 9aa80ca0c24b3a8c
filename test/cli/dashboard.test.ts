import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { testDatabase } from '../support/database.ts'
import { until } from '../support/wait.ts'
import { sluice, startSluice, temporaryFolder } from './run-cli.ts'

/** The cookie that the printed address is turned into, and where. */
async function entered(stdout: string): Promise<{ origin: string; cookie: string }> {
  const url = new URL(stdout.trim())
  const answer = await fetch(url)
  return { origin: url.origin, cookie: answer.headers.get('set-cookie')?.split(';')[0] ?? '' }
}

test('sluice dashboard prints an address that lets in, and ends in good order', async () => {
  await using db = await testDatabase()
  using running = startSluice(['dashboard', '--port', '0'], { env: { DATABASE_URL: db.workerUrl } })
  await until('it has printed its address', () => running.ran.stdout.endsWith('\n'))
  expect(running.ran.stdout).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/\?token=[\w-]{32}\n$/)
  const { origin, cookie } = await entered(running.ran.stdout)
  expect((await fetch(`${origin}/api/operations`, { headers: { cookie } })).status).toBe(200)
  expect((await fetch(`${origin}/api/operations`)).status).toBe(401)
  expect(await (await fetch(`${origin}/assets/app.js`)).text()).toContain('EventSource')
  running.kill('SIGTERM')
  expect((await running.ended).exitCode).toBe(143)
})

test('sluice dashboard refuses an address that others can reach', async () => {
  await using db = await testDatabase()
  const { exitCode, stderr } = await sluice(['dashboard', '--host', '0.0.0.0'], { env: { DATABASE_URL: db.workerUrl } })
  expect(stderr).toContain('0.0.0.0')
  expect(exitCode).toBe(6)
})

test('sluice dev migrates, works and shows, in one process', async () => {
  await using db = await testDatabase()
  await using folder = await temporaryFolder()
  await writeFile(
    join(folder.path, 'sluice.config.mjs'),
    `import { defineJob } from 'sluice'
export default { schema: 'fresh', jobs: [defineJob({ name: 'hello', perform: async () => undefined })] }`,
  )
  using running = startSluice(['dev', '--port', '0'], { folder: folder.path, env: { DATABASE_URL: db.url } })
  await until('it has printed its address', () => running.ran.stdout.endsWith('\n'))
  const { origin, cookie } = await entered(running.ran.stdout)
  const session = await fetch(`${origin}/api/session`, { headers: { cookie } })
  expect(await session.json()).toMatchObject({ environment: 'development', schema: 'fresh', role: 'admin' })
  const workers = await fetch(`${origin}/api/workers`, { headers: { cookie } })
  expect(await workers.json()).toMatchObject({ workers: [{ jobs: expect.arrayContaining(['hello']) }] })
  running.kill('SIGINT')
  expect((await running.ended).exitCode).toBe(130)
  expect(await db.value<number>('select count(*)::int from fresh.worker')).toBe(0)
})
