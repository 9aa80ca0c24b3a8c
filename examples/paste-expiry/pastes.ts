import { createHash, randomUUID } from 'node:crypto'
import { DeleteObjectCommand, GetObjectCommand, PutObjectCommand, type S3Client } from '@aws-sdk/client-s3'
import type { Pool } from 'pg'

export interface NewPaste {
  shortCode: string
  text: string
  expiresAt: Date
}

/** What the application does: pastes with equal content share one object. */
export class Pastes {
  readonly #pool: Pool
  readonly #s3: S3Client
  readonly #bucket: string

  constructor(pool: Pool, s3: S3Client, bucket: string) {
    this.#pool = pool
    this.#s3 = s3
    this.#bucket = bucket
  }

  async create({ shortCode, text, expiresAt }: NewPaste): Promise<void> {
    const hash = createHash('sha256').update(text).digest('hex')
    if (await this.#share(hash, shortCode, expiresAt)) return
    // Nobody else knows this name, so nobody deletes it before the row says that it is there.
    const objectKey = `${hash}/${randomUUID()}`
    await this.#s3.send(new PutObjectCommand({ Bucket: this.#bucket, Key: objectKey, Body: text }))
    const { rows } = await this.#pool.query(
      `with content as (
         insert into contents (object_key, hash, ref_count) values ($1, $2, 1)
         on conflict (hash) where status = 'LIVE' do update set ref_count = contents.ref_count + 1
         returning object_key
       )
       insert into pastes (short_code, object_key, expires_at)
       select $3, object_key, $4 from content
       returning object_key`,
      [objectKey, hash, shortCode, expiresAt],
    )
    // Somebody was quicker with the same content.
    if (rows[0].object_key !== objectKey) await this.#remove(objectKey)
  }

  /** Refers to content that is there. Its row is locked: it cannot be claimed any more, or it is claimed already. */
  async #share(hash: string, shortCode: string, expiresAt: Date): Promise<boolean> {
    const { rowCount } = await this.#pool.query(
      `with content as (
         update contents set ref_count = ref_count + 1
         where hash = $1 and status = 'LIVE'
         returning object_key
       )
       insert into pastes (short_code, object_key, expires_at)
       select $2, object_key, $3 from content`,
      [hash, shortCode, expiresAt],
    )
    return rowCount === 1
  }

  async read(shortCode: string): Promise<string | undefined> {
    const { rows } = await this.#pool.query(
      `select object_key from pastes where short_code = $1 and status = 'NOT_EXPIRED' and expires_at > now()`,
      [shortCode],
    )
    if (rows[0] === undefined) return undefined
    const object = await this.#s3.send(new GetObjectCommand({ Bucket: this.#bucket, Key: rows[0].object_key }))
    return object.Body?.transformToString()
  }

  async #remove(objectKey: string): Promise<void> {
    await this.#s3.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: objectKey }))
  }
}
