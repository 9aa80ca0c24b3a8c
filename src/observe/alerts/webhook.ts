import { createHmac } from 'node:crypto'
import { lookup as resolveName } from 'node:dns'
import { request } from 'node:https'
import { BlockList, type LookupFunction } from 'node:net'
import { checkNames, wrongOption } from '../../config/option.ts'

/** Where alerts are sent to. */
export interface WebhookConfig {
  /** An https address. */
  url: string
  /** Signs each message; the receiver knows it, too. At least 16 characters. */
  secret: string
  /** The hosts that may be called at all. The one of `url` has to be among them. */
  allow: readonly string[]
  /** Let an address of a private network or of this machine be called. Default: no. */
  private?: boolean
  /** A certificate to trust beside the usual ones, as PEM. */
  ca?: string
}

/** A webhook that was checked. */
export interface WebhookOptions {
  url: URL
  secret: string
  private: boolean
  ca: string | undefined
}

const timeoutMs = 5_000
const leastSecret = 16

/** Checks where alerts go to, before anything is sent. */
export function resolveWebhook(config: WebhookConfig): WebhookOptions {
  checkNames('alerts.webhook', config, ['url', 'secret', 'allow', 'private', 'ca'])
  const { url, secret, allow, private: inside = false, ca } = config
  const address = URL.canParse(url) ? new URL(url) : undefined
  if (address?.protocol !== 'https:') throw wrongOption('alerts.webhook.url', 'must be an https address')
  if (address.username !== '' || address.password !== '')
    throw wrongOption('alerts.webhook.url', 'must not carry a user or password')
  if (!Array.isArray(allow) || !allow.includes(address.hostname)) {
    throw wrongOption('alerts.webhook.allow', `must list the host of the address, "${address.hostname}"`)
  }
  if (typeof secret !== 'string' || secret.length < leastSecret) {
    throw wrongOption('alerts.webhook.secret', `must be a text of at least ${leastSecret} characters`)
  }
  return { url: address, secret, private: inside, ca }
}

/**
 * The signature of a message: its time in seconds and, by HMAC with SHA-256, that time and the body. The receiver makes
 * the same and compares, and refuses what is old.
 */
export function signatureOf(secret: string, seconds: number, body: string): string {
  return `t=${seconds},v1=${createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex')}`
}

/** Sends a message; throws when it was not taken. Follows no redirect, and calls no address inside unless allowed. */
export async function sendWebhook(webhook: WebhookOptions, message: object, nowMs: number): Promise<void> {
  const body = JSON.stringify(message)
  const status = await post(webhook, body, {
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    'sluice-signature': signatureOf(webhook.secret, Math.floor(nowMs / 1_000), body),
  })
  if (status < 200 || status > 299) throw new Error(`${webhook.url.host} answered with ${status}`)
}

function post(
  { url, ca, private: inside }: WebhookOptions,
  body: string,
  headers: Record<string, string>,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const lookup = inside ? {} : { lookup: outside }
    const signal = AbortSignal.timeout(timeoutMs)
    // No pooled connection: its address would have been looked up some time ago.
    const sent = request(
      url,
      { method: 'POST', headers, agent: false, signal, ...lookup, ...(ca && { ca }) },
      (answer) => {
        answer.resume()
        resolve(answer.statusCode ?? 0)
      },
    )
    sent.on('error', reject)
    // An address that is written as a number is not looked up.
    if (!inside && isInside(url.hostname.replace(/^\[|\]$/g, ''))) sent.destroy(refusal(url.hostname))
    else sent.end(body)
  })
}

/** Looks a name up, and refuses what is not on the outside: the check and the connection use the same answer. */
const outside: LookupFunction = (host, options, callback) => {
  resolveName(host, { ...options, all: true }, (error, addresses) => {
    const bad = error ?? (addresses.some(({ address }) => isInside(address)) ? refusal(host) : null)
    if (bad !== null) return callback(bad, [])
    const [first] = addresses
    if (options.all === true) return callback(null, addresses)
    callback(null, first?.address ?? '', first?.family)
  })
}

const inner = new BlockList()
for (const [net, bits] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['224.0.0.0', 3],
] as const)
  inner.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of [
  ['::', 127],
  ['fc00::', 7],
  ['fe80::', 10],
  ['ff00::', 8],
] as const)
  inner.addSubnet(net, bits, 'ipv6')

function isInside(address: string): boolean {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return isInside(mapped)
  return inner.check(address, address.includes(':') ? 'ipv6' : 'ipv4')
}

function refusal(host: string): Error {
  return new Error(`${host} is an address of a private network or of this machine; set "private" to allow that`)
}
