import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'

/**
 * What the server keeps of a password, derived in one round instead of 4,096: a run of the tests logs in many thousand
 * times, and the rounds are paid for on both sides. Everything else about logging in is as it always is.
 */
export function verifierOf(password: string): string {
  const salt = randomBytes(16)
  const salted = pbkdf2Sync(password, salt, 1, 32, 'sha256')
  const keyed = (text: string): Buffer => createHmac('sha256', salted).update(text).digest()
  const stored = createHash('sha256').update(keyed('Client Key')).digest()
  const [salt64, stored64, server64] = [salt, stored, keyed('Server Key')].map((bytes) => bytes.toString('base64'))
  return `SCRAM-SHA-256$1:${salt64}$${stored64}:${server64}`
}
