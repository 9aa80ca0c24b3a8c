import { Hono, type Context } from 'hono'
import type { FileAnswer } from './answers.ts'
import { contract, type Route, type RouteName } from './contract.ts'
import { failureOf } from './failure.ts'
import { notice, pageFile, shell } from './files.ts'
import { refusalOf, type Refusal } from './guard.ts'
import type { Call, Desk } from './handlers.ts'
import { protection } from './headers.ts'
import { inputOf, watchedRoute } from './input.ts'
import { openApi } from './openapi.ts'
import { allowances, Rate } from './rate.ts'
import { includes, RoleMissing, visitorOf, type Visitor } from './roles.ts'
import { handlers } from './routes/index.ts'
import { openStream, type Streams } from './streams.ts'
import type { Pass } from './token.ts'
import { fileToWire, toWire } from './wire.ts'

/** What the app is made of. */
export interface AppParts {
  desk: Desk
  /** Without a slash at its end; empty: the root. */
  base: string
  hosts: readonly string[] | undefined
  authorize: (request: Request) => unknown
  pass: Pass | undefined
  streams: Streams
}

type Env = { Variables: { visitor: Visitor } }

/** All routes: pages, their files, the API of the contract, the stream. */
export function createApp(parts: AppParts): Hono<Env> {
  const { base } = parts
  const app = new Hono<Env>()
  const rates = { look: new Rate(allowances.look), change: new Rate(allowances.change) }
  app.onError((error) => refuse(failureOf(error)))
  app.notFound(() => refuse({ status: 404, code: 'NOT_FOUND', message: 'There is nothing here.' }))
  app.use(async (c, next) => {
    const refusal = refusalOf(c.req.raw, parts)
    if (refusal !== undefined) return refuse(refusal)
    await next()
    for (const [name, value] of Object.entries(protection)) if (!c.res.headers.has(name)) c.res.headers.set(name, value)
  })
  if (parts.pass !== undefined) app.get(`${base}/`, exchange(parts.pass, base))
  app.get(`${base}/assets/:file`, (c) => asset(c.req.param('file'), c.req.raw.headers))
  app.use(async (c, next) => {
    const visitor = await visit(parts, c.req.raw)
    if (visitor === undefined) return stranger(c.req.path.startsWith(`${base}/api/`))
    const kind = c.req.method === 'POST' ? 'change' : 'look'
    if (!rates[kind].take(visitor.user, performance.now())) {
      return refuse({ status: 429, code: 'RATE', message: 'Too many requests. Wait a few seconds.' })
    }
    c.set('visitor', visitor)
    await next()
  })
  for (const name of Object.keys(contract) as RouteName[]) {
    const { method, path } = contract[name] as Route
    app.on(method, `${base}/api${path}`, (c) => answer(name, c, parts.desk))
  }
  app.get(`${base}/api/openapi.json`, () => json(toWire(openApi(base))))
  app.get(`${base}/api/stream`, (c) => stream(c, parts))
  app.all(`${base}/api/*`, () => refuse({ status: 404, code: 'NOT_FOUND', message: 'There is no such route.' }))
  if (base !== '') app.get(base, () => html(shell(base)))
  app.get(`${base}/*`, () => html(shell(base)))
  return app
}

async function answer(name: RouteName, c: Context<Env>, desk: Desk): Promise<Response> {
  const visitor = c.get('visitor')
  const refusal = refusalFor(name, visitor, desk)
  if (refusal !== undefined) return refuse(refusal)
  const input = await inputOf(contract[name], c.req.raw, c.req.param())
  const given = await handlerOf(name)({ input, visitor, desk })
  return (contract[name] as Route).file === undefined ? json(toWire(given)) : fileOf(given as FileAnswer)
}

/** The table of handlers has one for each name; that they fit together is checked where the table is made. */
const handlerOf = (name: RouteName): ((call: Omit<Call<never>, 'input'> & { input: unknown }) => Promise<unknown>) =>
  handlers[name] as never

function refusalFor(name: RouteName, { role }: Visitor, { surroundings }: Desk): Refusal | undefined {
  const { role: needed, method } = contract[name]
  if (surroundings.readOnly && method === 'POST') {
    return { status: 403, code: 'READ_ONLY', message: 'This dashboard only shows.' }
  }
  return includes(role, needed) ? undefined : failureOf(new RoleMissing(needed, role))
}

/** Nobody, when `authorize` throws. */
async function visit({ pass, authorize }: AppParts, request: Request): Promise<Visitor | undefined> {
  try {
    return visitorOf(pass === undefined ? await authorize(request) : pass.visitorOf(request))
  } catch {
    // Whoever cannot be told apart from a stranger is one.
    return undefined
  }
}

/**
 * Turns the token of the printed address into a cookie, and takes it out of the address. Whoever has the cookie may
 * follow the link again, or reload it.
 */
function exchange(pass: Pass, base: string) {
  return async (c: Context<Env>, next: () => Promise<void>): Promise<Response | void> => {
    const token = c.req.query('token')
    if (token === undefined) return next()
    const page = notice({ title: 'Sluice', text: 'Opening the dashboard …', next: `${base}/` })
    if (pass.visitorOf(c.req.raw) !== undefined) return html(page)
    // A look at the head alone opens nothing, and must not use up the token.
    const cookie = c.req.method === 'HEAD' ? undefined : pass.cookieFor(token)
    return cookie === undefined ? stranger(false) : html(page, 200, { 'set-cookie': cookie })
  }
}

function stream(c: Context<Env>, { streams, desk }: AppParts): Response {
  const visitor = c.get('visitor')
  const watched = c.req.queries('watch') ?? []
  if (watched.length === 0 || watched.length > 5) {
    return refuse({ status: 400, code: 'INPUT', message: 'Name one to five routes to watch.' })
  }
  const reads = watched.map((path) => {
    const { name, input } = watchedRoute(path)
    const refusal = refusalFor(name, visitor, desk)
    if (refusal !== undefined) throw new Error('no route that is watched changes anything')
    const key = `${visitor.role} ${name} ${JSON.stringify(input)}`
    const read = async (): Promise<string> => {
      try {
        return `{"answer":${toWire(await handlerOf(name)({ input, visitor, desk }))}}`
      } catch (error) {
        return toWire({ error: failureOf(error) })
      }
    }
    return { key, read }
  })
  const body = openStream(streams, { user: visitor.user, reads, signal: c.req.raw.signal })
  if (body === undefined) return refuse({ status: 429, code: 'RATE', message: 'Too many pages are open.' })
  const headers = { ...protection, 'content-type': 'text/event-stream', 'x-accel-buffering': 'no' }
  return new Response(body, { headers })
}

function asset(name: string, headers: Headers): Response {
  const file = pageFile(name)
  if (file === undefined) return refuse({ status: 404, code: 'NOT_FOUND', message: 'There is no such file.' })
  const kept = { ...protection, 'cache-control': 'no-cache', etag: file.tag, vary: 'accept-encoding' }
  if (headers.get('if-none-match') === file.tag) return new Response(null, { status: 304, headers: kept })
  const zip = /\bgzip\b/.test(headers.get('accept-encoding') ?? '')
  return new Response(zip ? file.zipped : file.body, {
    headers: { ...kept, 'content-type': file.type, ...(zip ? { 'content-encoding': 'gzip' } : {}) },
  })
}

function stranger(api: boolean): Response {
  const text =
    'You are not signed in here. The address that the server prints when it starts works once, in one browser: start the server again for a new one. Where an application shows this dashboard, sign in to the application.'
  if (api) return refuse({ status: 401, code: 'UNKNOWN', message: text })
  return html(notice({ title: 'Not signed in', text }), 401)
}

function refuse({ status, code, message }: Refusal): Response {
  return json(toWire({ error: { code, message } }), status, status === 429 ? { 'retry-after': '5' } : {})
}

function json(text: string, status = 200, headers: Record<string, string> = {}): Response {
  return new Response(text, { status, headers: { ...protection, 'content-type': 'application/json', ...headers } })
}

/** A file that is read while it is sent; a reader that goes away ends the reading. */
function fileOf({ name, type, pieces }: FileAnswer): Response {
  const [encoder, source] = [new TextEncoder(), pieces[Symbol.asyncIterator]()]
  const body = new ReadableStream<Uint8Array>({
    async pull(out) {
      const piece = await source.next()
      if (piece.done === true) out.close()
      else out.enqueue(encoder.encode(fileToWire(piece.value)))
    },
    async cancel() {
      await source.return?.()
    },
  })
  const disposition = { 'content-disposition': `attachment; filename="${name}"` }
  return new Response(body, { headers: { ...protection, 'content-type': type, ...disposition } })
}

function html(text: string, status = 200, headers: Record<string, string> = {}): Response {
  const type = { 'content-type': 'text/html; charset=utf-8' }
  return new Response(text, { status, headers: { ...protection, ...type, ...headers } })
}
