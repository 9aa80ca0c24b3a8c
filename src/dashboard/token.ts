import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Visitor } from './roles.ts'

/** A secret of one start: in the address that is printed, then in a cookie that no script can read. */
export interface Pass {
  /** In the printed address. */
  readonly token: string
  /** The cookie to set for who brings the token; undefined: it is the wrong one. */
  cookieFor(token: string): string | undefined
  /** Who a request comes from; undefined: it has no valid cookie. */
  visitorOf(request: Request): Visitor | undefined
}

/** Makes the pass of one start. The cookie differs from the token, so that an address in a log opens nothing later. */
export function issuePass({ name, visitor, path }: { name: string; visitor: Visitor; path: string }): Pass {
  const token = randomBytes(24).toString('base64url')
  const session = randomBytes(32).toString('base64url')
  return {
    token,
    cookieFor: (given) =>
      equal(given, token) ? `${name}=${session}; Path=${path}; HttpOnly; SameSite=Strict` : undefined,
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
