import { DeleteObjectCommand, type S3Client } from '@aws-sdk/client-s3'
// In your own project this line is: import { defineSweep, sql, type SweepDefinition } from 'sluice'
import { defineSweep, sql, type SweepDefinition } from '../../src/index.ts'

interface Paste {
  short_code: string
  object_key: string
  expires_at: Date
  status: string
  deletion_initiated_at: Date | null
  deletion_worker: string | null
  deletion_nonce: string | null
}

interface Content {
  object_key: string
  ref_count: number
  status: string
  claimed_at: Date | null
  claimed_by: string | null
  claim_nonce: string | null
}

/** Pastes that have expired go, and their reference to the content with them, in one transaction. */
export const expirePastes = defineSweep<Paste>({
  name: 'expire-pastes',
  table: 'pastes',
  key: 'short_code',
  due: sql`expires_at < now()`,
  order: ['expires_at', 'short_code'],
  claim: {
    columns: {
      status: 'status',
      nonce: 'deletion_nonce',
      claimedAt: 'deletion_initiated_at',
      worker: 'deletion_worker',
    },
    from: 'NOT_EXPIRED',
    to: 'DELETION_IN_PROGRESS',
  },
  releases: { table: 'contents', key: 'object_key', count: 'ref_count', by: 'object_key' },
})

/** Content that no paste refers to goes: first the object in the store, then the row. */
export const removeContents = (s3: S3Client, bucket: string): SweepDefinition =>
  defineSweep<Content>({
    name: 'remove-contents',
    table: 'contents',
    key: 'object_key',
    due: sql`ref_count = 0`,
    claim: {
      columns: { status: 'status', nonce: 'claim_nonce', claimedAt: 'claimed_at', worker: 'claimed_by' },
      from: 'LIVE',
      to: 'DELETION_IN_PROGRESS',
    },
    // To delete what is gone already is no error for S3, so a second attempt does no harm.
    effect: ({ row, signal }) =>
      s3.send(new DeleteObjectCommand({ Bucket: bucket, Key: row.object_key }), { abortSignal: signal }),
  })
