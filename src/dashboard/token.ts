import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Visitor } from './roles.ts'

/** A secret of one start: in the address that is printed, once, then in a cookie that no script can read. */
export interface Pass {
  /** In the printed address. */
  readonly token: string
  /** The cookie to set for who brings the token first; undefined: it is the wrong one, or has been used. */
  cookieFor(token: string): string | undefined
  /** Who a request comes from; undefined: it has no valid cookie. */
  visitorOf(request: Request): Visitor | undefined
}

/** Closing the browser must not lock anybody out: the token that would let them in again is used up. */
const keptSeconds = 7 * 86_400

/**
 * Makes the pass of one start. The token opens one session, and the cookie of the session differs from it, so that an
 * address in a log opens nothing later.
 */
export function issuePass({ name, visitor, path }: { name: string; visitor: Visitor; path: string }): Pass {
  const token = randomBytes(24).toString('base64url')
  const session = randomBytes(32).toString('base64url')
  let used = false
  return {
    token,
    cookieFor(given) {
      if (used || !equal(given, token)) return undefined
      used = true
      return `${name}=${session}; Path=${path}; Max-Age=${keptSeconds}; HttpOnly; SameSite=Strict`
    },
    visitorOf(request) {
      const given = cookies(request.headers.get('cookie') ?? '').get(name)
      return given !== undefined && equal(given, session) ? visitor : undefined
    },
  }
}

const hash = (text: string): Buffer => createHash('sha256').update(text).digest()

/** Takes as long for a near miss as for any other. */
function equal(a: string, b: string): boolean {
  return timingSafeEqual(hash(a), hash(b))
}

function cookies(header: string): Map<string, string> {
  const pairs = header.split(';').map((pair) => pair.trim().split('=', 2))
  return new Map(pairs.map(([key = '', value = '']) => [key, value]))
}
