import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { SluiceError, type Sluice } from '../index.ts'
import { makeDashboard } from './make.ts'
import type { DashboardOptions } from './options.ts'
import { issuePass } from './token.ts'

/** How a dashboard is served by itself. */
export interface ServeOptions extends Partial<Omit<DashboardOptions, 'basePath'>> {
  /** Default: 4040; 0: any free one. */
  port?: number
  /** Default: 127.0.0.1. Another one than this machine's own needs `authorize` and `hosts`. */
  host?: string
}

/** A dashboard that is served. */
export interface ServedDashboard extends AsyncDisposable {
  /** The address to open; without `authorize`, with the token of this start. */
  readonly url: string
  readonly port: number
  close(): Promise<void>
}

const loopback = ['127.0.0.1', 'localhost', '::1']

/**
 * Serves a dashboard on an address of its own. On the loopback address, the token in `url` lets in; elsewhere it
 * refuses to start without `authorize`.
 *
 * @example
 * ```ts
 * import { serveDashboard } from 'sluice/dashboard'
 *
 * const { url } = await serveDashboard(sluice, { port: 4040 })
 * console.log(url)
 * ```
 */
export async function serveDashboard(sluice: Sluice, options: ServeOptions = {}): Promise<ServedDashboard> {
  const { port = 4040, host = '127.0.0.1', authorize, ...rest } = options
  checkAddress(host, options)
  const server = createServer()
  const bound = await listen(server, { port, host })
  const own = loopback.flatMap((name) => (name === '::1' ? `[::1]:${bound}` : `${name}:${bound}`))
  const pass =
    authorize === undefined ? issuePass({ name: `sluice_${bound}`, visitor: localVisitor(), path: '/' }) : undefined
  const dashboard = makeDashboard(
    sluice,
    {
      ...rest,
      hosts: [...(options.hosts ?? []), ...(loopback.includes(host) ? own : [])],
      authorize: authorize ?? (() => null),
    },
    pass,
  )
  server.on('request', dashboard.node)
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    await dashboard.close()
    server.closeAllConnections()
    await closed
  }
  const name = host.includes(':') ? `[${host}]` : host
  const url = `http://${name}:${bound}/${pass === undefined ? '' : `?token=${pass.token}`}`
  return { url, port: bound, close, [Symbol.asyncDispose]: close }
}

function checkAddress(host: string, { authorize, hosts }: ServeOptions): void {
  if (loopback.includes(host) || (authorize !== undefined && hosts !== undefined)) return
  throw new SluiceError('DASHBOARD_UNGUARDED', {
    message: `The dashboard does not listen on ${host.slice(0, 100)}, where others can reach it, without knowing who they are. Mount it in your application with "authorize", or listen on 127.0.0.1 and reach it through a tunnel (ssh -L).`,
    details: { host },
  })
}

async function listen(server: Server, { port, host }: { port: number; host: string }): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        new SluiceError('DASHBOARD_INVALID', {
          message: `The dashboard cannot listen on ${host}:${port} (${error.code ?? error.message}). Choose another --port.`,
          details: { host, port },
          cause: error,
        }),
      )
    })
    server.listen({ port, host }, resolve)
  })
  return (server.address() as AddressInfo).port
}

/** Whoever has the printed address has this machine's user account, and may do all. */
function localVisitor(): { user: string; role: 'admin' } {
  try {
    return { user: userInfo().username, role: 'admin' }
  } catch {
    // In a container the process may run as a number without a name.
    return { user: 'local', role: 'admin' }
  }
}
