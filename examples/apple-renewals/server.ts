import { createHmac, timingSafeEqual } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import { inboxHandler, type Sluice } from '../../src/index.ts'
import { appleRenewals } from './inboxes.ts'

const signatureOf = (secret: string, body: Uint8Array): Buffer => createHmac('sha256', secret).update(body).digest()

/** The endpoint: it records and answers. The work is done by a worker. */
export function renewalServer(sluice: Sluice, secret: string): Server {
  const webhook = inboxHandler(sluice, appleRenewals, {
    verify(body, header) {
      const given = Buffer.from(header('x-signature') ?? '', 'hex')
      return given.length === 32 && timingSafeEqual(given, signatureOf(secret, body))
    },
  })
  return createServer((request, response) => void webhook.node(request, response))
}
