import { checkOptions, probeFrom, refuse, type OwnProbeOptions } from './own-probes.ts'
import type { Probe } from './probe.ts'

/** How a check by HTTP is declared; see {@link httpProbe}. */
export interface HttpProbeOptions extends Omit<OwnProbeOptions, 'soft' | 'hard' | 'unit'> {
  url: string
  headers?: Record<string, string>
}

/** How a Prometheus query is declared; see {@link prometheusProbe}. */
export interface PrometheusProbeOptions extends OwnProbeOptions {
  /** Where Prometheus answers, such as `http://prometheus:9090`. */
  url: string
  /** A query that gives one number. */
  query: string
  headers?: Record<string, string>
}

/** Answers that say "not now". */
const busy = [417, 429, 503]

/**
 * Asks an address whether to go on: 2xx is yes; 417, 429 and 503 are no, and stop the work; anything else is unknown.
 *
 * @example
 * ```ts
 * import { httpProbe } from 'sluice'
 *
 * export const checkout = httpProbe({ name: 'checkout', url: 'http://slo.internal/checkout', timeout: '500ms' })
 * ```
 */
export function httpProbe(options: HttpProbeOptions): Probe {
  const whole = { ...options, soft: 0, hard: 1 }
  const ask = asker(whole, ['url', 'headers'])
  return probeFrom(whole, async (signal) => {
    const response = await ask(new URL(options.url), signal)
    await response.body?.cancel()
    if (response.ok) return { value: 0 }
    if (busy.includes(response.status)) return { value: 1, said: `the answer was ${response.status}` }
    throw new Error(`the answer was ${response.status}`)
  })
}

/**
 * Asks Prometheus for one number, such as the error rate of a service or the free space of a disk.
 *
 * @example
 * ```ts
 * import { prometheusProbe } from 'sluice'
 *
 * export const p95 = prometheusProbe({
 *   name: 'checkout-p95',
 *   url: 'http://prometheus:9090',
 *   query: 'histogram_quantile(0.95, sum by (le) (rate(checkout_seconds_bucket[1m])))',
 *   soft: 0.2,
 *   hard: 0.5,
 * })
 * ```
 */
export function prometheusProbe(options: PrometheusProbeOptions): Probe {
  const ask = asker(options, ['url', 'query', 'headers'])
  if (typeof options.query !== 'string' || options.query.trim() === '') refuse(options.name, '"query" must be a query')
  return probeFrom(options, async (signal) => {
    const url = new URL(`${options.url.replace(/\/$/, '')}/api/v1/query`)
    url.searchParams.set('query', options.query)
    const response = await ask(url, signal)
    if (!response.ok) throw new Error(`the answer was ${response.status}`)
    return { value: numberIn(await response.json()) }
  })
}

function asker(
  options: OwnProbeOptions & { url: string; headers?: Record<string, string> },
  more: readonly string[],
): (url: URL, signal: AbortSignal) => Promise<Response> {
  checkOptions(options, more)
  if (!URL.canParse(options.url) || !/^https?:/.test(options.url)) {
    refuse(options.name, '"url" must be an address that starts with http:// or https://')
  }
  const headers = options.headers ?? {}
  return (url, signal) => fetch(url, { signal, headers, redirect: 'error' })
}

/** The number in an answer of Prometheus: a scalar, or a vector of exactly one. */
function numberIn(answer: unknown): number {
  const { data } = answer as { data?: { resultType?: string; result?: unknown } }
  const result = data?.result
  const pair =
    data?.resultType === 'scalar' ? result : Array.isArray(result) && result.length === 1 ? result[0]?.value : []
  const value = Array.isArray(pair) ? Number(pair[1] ?? Number.NaN) : Number.NaN
  if (Number.isFinite(value)) return value
  throw new Error('the query gave no number, or more than one')
}
