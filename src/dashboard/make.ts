import type { Sluice } from '../index.ts'
import { createApp } from './app.ts'
import { fastifyPlugin, nodeListener, type FastifyPlugin, type Fetch, type NodeListener } from './mounts.ts'
import { resolveOptions, type DashboardOptions } from './options.ts'
import { Streams } from './streams.ts'
import type { Pass } from './token.ts'

/** A dashboard, ready to be mounted. */
export interface Dashboard extends AsyncDisposable {
  /** For servers of the fetch kind. */
  readonly fetch: Fetch
  /** For `node:http`, and for Express: `app.use('/admin/sluice', dashboard.node)`. */
  readonly node: NodeListener
  /** For Fastify: `app.register(dashboard.fastify, { prefix: '/admin/sluice' })`. */
  readonly fastify: FastifyPlugin
  /** For Next and the like: `export const { GET, POST } = dashboard`. */
  readonly GET: Fetch
  readonly POST: Fetch
  /** Ends open streams and closes its connections. */
  close(): Promise<void>
}

/** Makes a dashboard; with a pass, that decides instead of `authorize` who comes in. */
export function makeDashboard(sluice: Sluice, options: DashboardOptions, pass: Pass | undefined): Dashboard {
  const { base, hosts, ...surroundings } = resolveOptions(options)
  const look = sluice.beside({
    timeouts: { statement: '5s', lock: '1s', idleInTransaction: '5s' },
    worker: { concurrency: 1, jobs: { concurrency: 1 } },
  })
  const streams = new Streams()
  const app = createApp({
    desk: { look, act: sluice, surroundings },
    base,
    hosts,
    authorize: options.authorize,
    pass,
    streams,
  })
  const fetch: Fetch = async (request) => app.fetch(request)
  const node = nodeListener(fetch)
  const close = async (): Promise<void> => {
    streams.close()
    await look.stop()
  }
  return { fetch, node, fastify: fastifyPlugin(node), GET: fetch, POST: fetch, close, [Symbol.asyncDispose]: close }
}
