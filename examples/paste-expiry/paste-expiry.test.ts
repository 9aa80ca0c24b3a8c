import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ListObjectsV2Command, S3Client } from '@aws-sdk/client-s3'
import pg from 'pg'
import S3rver from 's3rver'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Sluice } from '../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../test/support/database.ts'
import { until } from '../../test/support/wait.ts'
import { testProfile } from '../../test/support/worker.ts'
import { Pastes } from './pastes.ts'
import { expirePastes, removeContents } from './sweeps.ts'

const bucket = 'pastes'
let folder: string
let server: S3rver
let s3: S3Client
let db: TestDatabase
let pool: pg.Pool
let pastes: Pastes
let sluice: Sluice
/** Deletes wait here, when a test wants them to. */
let gate: Promise<void> | undefined

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sluice-s3-'))
  server = new S3rver({
    address: '127.0.0.1',
    port: 0,
    directory: folder,
    silent: true,
    configureBuckets: [{ name: bucket }],
  })
  const { port } = await server.run()
  s3 = new S3Client({
    endpoint: `http://127.0.0.1:${port}`,
    region: 'eu-central-1',
    forcePathStyle: true,
    maxAttempts: 1,
    credentials: { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
  })
  s3.middlewareStack.add(
    (next, { commandName }) =>
      async (args) => {
        if (commandName === 'DeleteObjectCommand') await gate
        return next(args)
      },
    { step: 'initialize' },
  )
  db = await testDatabase()
  await db.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  pool = new pg.Pool({ connectionString: db.url })
  pastes = new Pastes(pool, s3, bucket)
  sluice = new Sluice({
    ...testProfile,
    database: db.workerUrl,
    sweeps: [expirePastes, removeContents(s3, bucket)],
  })
  await sluice.start()
})

afterAll(async () => {
  await sluice.stop()
  await pool.end()
  await db[Symbol.asyncDispose]()
  s3.destroy()
  await server.close()
  await rm(folder, { recursive: true, force: true })
})

const objects = async (): Promise<number> =>
  (await s3.send(new ListObjectsV2Command({ Bucket: bucket }))).Contents?.length ?? 0

const later = (): Date => new Date(Date.now() + 86_400_000)

const expire = async (shortCode: string): Promise<void> => {
  await db.query(`update pastes set expires_at = now() - interval '1 second' where short_code = $1`, [shortCode])
  await sluice.sweeps.run('expire-pastes')
}

const gone = (shortCode: string): Promise<void> =>
  until(`${shortCode} is gone`, async () => {
    const rows = await db.query('select from pastes where short_code = $1', [shortCode])
    return rows.length === 0
  })

test('the object is there while one paste refers to it, and goes with the last one', async () => {
  await pastes.create({ shortCode: 'a', text: 'shared', expiresAt: later() })
  await pastes.create({ shortCode: 'b', text: 'shared', expiresAt: later() })
  expect(await objects()).toBe(1)
  expect(await db.value('select ref_count from contents')).toBe(2)

  await expire('a')
  await gone('a')
  expect(await pastes.read('a')).toBeUndefined()
  expect(await pastes.read('b')).toBe('shared')
  expect(await db.value('select ref_count from contents')).toBe(1)

  await expire('b')
  await until('the content is gone', async () => (await db.value<number>('select count(*)::int from contents')) === 0)
  expect(await objects()).toBe(0)
})

test('a paste of content that is being removed has an object of its own, and keeps it', async () => {
  const opened = new AbortController()
  gate = new Promise((resolve) => opened.signal.addEventListener('abort', () => resolve()))
  await pastes.create({ shortCode: 'c', text: 'comes again', expiresAt: later() })
  await expire('c')
  const claimed = `select count(*)::int from contents where status = 'DELETION_IN_PROGRESS'`
  await until('its content is claimed', async () => (await db.value<number>(claimed)) === 1)

  await pastes.create({ shortCode: 'd', text: 'comes again', expiresAt: later() })
  expect(await objects()).toBe(2)
  opened.abort()

  await until('the old one is gone', async () => (await db.value<number>('select count(*)::int from contents')) === 1)
  expect(await objects()).toBe(1)
  expect(await pastes.read('d')).toBe('comes again')
})
