import type { Answer } from '../answers.ts'
import type { RouteName } from '../contract.ts'
import { base } from './router.ts'

/** A request that was refused or not answered. */
export class Refused extends Error {
  readonly code: string
  readonly status: number

  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

async function ask(path: string, init: RequestInit): Promise<unknown> {
  const response = await fetch(`${base}/api${path}`, { ...init, credentials: 'same-origin' }).catch(() => {
    throw new Refused(0, 'OFFLINE', 'The server does not answer.')
  })
  const body = (await response.json().catch(() => ({}))) as { error?: { code?: string; message?: string } }
  if (response.ok) return body
  throw new Refused(
    response.status,
    body.error?.code ?? 'FAILED',
    body.error?.message ?? 'The server could not answer.',
  )
}

/** Reads from a path below `/api`. */
export async function read<T>(path: string): Promise<T> {
  return (await ask(path, { method: 'GET' })) as T
}

/** Changes something. */
export async function change<N extends RouteName>(
  path: string,
  body: Record<string, unknown>,
  _route?: N,
): Promise<Answer<N>> {
  const headers = { 'content-type': 'application/json', 'x-sluice-intent': 'dashboard' }
  return (await ask(path, { method: 'POST', headers, body: JSON.stringify(body) })) as Answer<N>
}
