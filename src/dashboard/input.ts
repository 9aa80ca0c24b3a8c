import { contract, type Route, type RouteName } from './contract.ts'
import { check, fromQuery, Misfit } from './shape.ts'

/** A body may have so many bytes: the largest args, and some more. */
const maxBytes = 300 * 1024

/** What a request gives to a route, checked by the contract. */
export async function inputOf(
  route: Route,
  request: Request,
  params: Record<string, string>,
): Promise<Record<string, unknown>> {
  const { searchParams } = new URL(request.url)
  const body = route.method === 'POST' ? check(route.body ?? {}, await bodyOf(request)) : {}
  return { ...body, ...addressed(route, params, searchParams) }
}

/** The route and input of a path below `/api` that a page watches. Only what reads can be watched. */
export function watchedRoute(path: string): { name: RouteName; input: Record<string, unknown> } {
  const [place = '', query = ''] = path.split('?', 2)
  for (const name of Object.keys(contract) as RouteName[]) {
    const route: Route = contract[name]
    const params =
      route.method === 'GET' && route.once !== true && name !== 'session' ? paramsOf(route.path, place) : undefined
    if (params !== undefined) return { name, input: addressed(route, params, new URLSearchParams(query)) }
  }
  throw new Misfit('one of the routes cannot be watched')
}

function addressed(route: Route, params: Record<string, string>, query: URLSearchParams): Record<string, unknown> {
  const fields = route.params ?? {}
  const texts = new URLSearchParams(Object.entries(params))
  return {
    ...check(route.query ?? {}, fromQuery(route.query ?? {}, query)),
    ...check(fields, fromQuery(fields, texts)),
  }
}

function paramsOf(pattern: string, path: string): Record<string, string> | undefined {
  const [wanted, given] = [pattern.split('/'), path.split('/')]
  if (wanted.length !== given.length) return undefined
  const params: Record<string, string> = {}
  for (const [at, step] of wanted.entries()) {
    const text = given[at] ?? ''
    if (step.startsWith(':')) params[step.slice(1)] = decoded(text)
    else if (step !== text) return undefined
  }
  return params
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Misfit('the path is not well formed')
  }
}

async function bodyOf(request: Request): Promise<Record<string, unknown>> {
  const body = parsed(await textOf(request))
  if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body as Record<string, unknown>
  throw new Misfit('the body must be a JSON object')
}

/** Reads no more than is allowed, whatever the sender says about the length. */
async function textOf(request: Request): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let [text, bytes] = ['', 0]
  try {
    for await (const chunk of request.body ?? []) {
      bytes += chunk.byteLength
      if (bytes > maxBytes) break
      text += decoder.decode(chunk, { stream: true })
    }
    if (bytes <= maxBytes) return text + decoder.decode()
  } catch (error) {
    throw new Misfit('the body is not well-formed UTF-8', { cause: error })
  }
  throw new Misfit(`the body has more than ${maxBytes} bytes`)
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text, (key, value: unknown) => {
      if (key === '__proto__') throw new SyntaxError('a key that is not taken')
      return value
    })
  } catch (error) {
    throw new Misfit('the body is not JSON', { cause: error })
  }
}
