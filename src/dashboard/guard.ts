/**
 * What is looked at before anybody is asked who they are. A page of somebody else can make a browser send requests
 * here, with its cookies; and a name of somebody else can be made to point here. So: hosts are on a list where there is
 * one, an origin is our own, and what changes something is a POST of JSON with a header that no form and no foreign
 * page can send without being asked for permission, which is never given.
 */

/** Why a request is not answered. */
export interface Refusal {
  status: 400 | 401 | 403 | 404 | 405 | 409 | 413 | 415 | 421 | 429 | 500 | 503
  code: string
  message: string
}

/** The header that pages send with what changes something. */
export const intentHeader = 'x-sluice-intent'

const refusal = (status: Refusal['status'], code: string, message: string): Refusal => ({ status, code, message })

/** The first reason to refuse a request by its head alone. */
export function refusalOf(request: Request, { hosts }: { hosts: readonly string[] | undefined }): Refusal | undefined {
  const { headers, method } = request
  const host = hostOf(request)
  if (host === undefined || (hosts !== undefined && !hosts.includes(host))) {
    return refusal(421, 'HOST', 'This host is not served here.')
  }
  const origin = headers.get('origin')
  if (origin !== null && hostOfOrigin(origin) !== host) return refusal(403, 'ORIGIN', 'This origin may not ask here.')
  if (method !== 'GET' && method !== 'HEAD' && method !== 'POST') {
    return refusal(405, 'METHOD', 'Only GET and POST are answered.')
  }
  if (request.url.length > 4_096) return refusal(413, 'LENGTH', 'The address is too long.')
  return method === 'POST' ? refusalOfChange(headers) : refusalOfRead(headers)
}

function refusalOfRead(headers: Headers): Refusal | undefined {
  const site = headers.get('sec-fetch-site')
  // Somebody may follow a link to here; a foreign page may not read or embed.
  const own = site === null || site === 'same-origin' || site === 'none'
  if (own || headers.get('sec-fetch-mode') === 'navigate') return undefined
  return refusal(403, 'SITE', 'Another site may not ask here.')
}

function refusalOfChange(headers: Headers): Refusal | undefined {
  const site = headers.get('sec-fetch-site')
  if (site !== null && site !== 'same-origin') return refusal(403, 'SITE', 'Another site may not ask here.')
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase()
  if (type !== 'application/json') return refusal(415, 'TYPE', 'The body must be application/json.')
  if (headers.get(intentHeader) === null) {
    return refusal(403, 'INTENT', `A request that changes something needs the header ${intentHeader}.`)
  }
  return undefined
}

function hostOf(request: Request): string | undefined {
  const host = request.headers.get('host')?.toLowerCase()
  // Handlers of the fetch kind may lack the header; the address then says the same.
  const named = host ?? new URL(request.url).host
  return /^[a-z0-9._-]+(:\d{1,5})?$|^\[[0-9a-f:]+\](:\d{1,5})?$/.test(named) ? named : undefined
}

function hostOfOrigin(origin: string): string | undefined {
  try {
    const { host, protocol } = new URL(origin)
    return protocol === 'http:' || protocol === 'https:' ? host : undefined
  } catch {
    // "null" and worse.
    return undefined
  }
}
