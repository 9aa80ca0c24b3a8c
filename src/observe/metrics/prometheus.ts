import type * as prom from 'prom-client'
import type { Sluice } from '../../sluice.ts'
import { gaugeReader } from './gauges.ts'
import { Labels } from './labels.ts'
import { loadOptional } from './optional.ts'
import { eventMetrics } from './prometheus-events.ts'
import { gaugeMetrics } from './prometheus-gauges.ts'

/** How metrics are given to Prometheus. */
export interface PrometheusOptions {
  /** Your own registry of `prom-client`, beside your other metrics. Default: one of its own. */
  register?: prom.Registry
}

/** What an endpoint for Prometheus answers with. */
export interface PrometheusMetrics {
  register: prom.Registry
  contentType: string
  /** The metrics as text. */
  text(): Promise<string>
  /** Answers a request for `/metrics`, in anything that speaks `Request` and `Response`. */
  fetch(request?: Request): Promise<Response>
  /** Ends it, and takes the metrics out of the registry. */
  stop(): void
}

/**
 * Metrics for Prometheus. Needs the package `prom-client`.
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http'
 * import { Sluice } from 'sluice'
 * import { prometheus } from 'sluice/metrics'
 *
 * const sluice = new Sluice()
 * const metrics = prometheus(sluice)
 * createServer(async (_, response) => {
 *   response.setHeader('content-type', metrics.contentType).end(await metrics.text())
 * }).listen(9464, '127.0.0.1')
 * ```
 */
export function prometheus(sluice: Sluice, { register }: PrometheusOptions = {}): PrometheusMetrics {
  const client = loadOptional('prom-client') as typeof prom
  const into = register ?? new client.Registry()
  const labels = new Labels()
  const events = eventMetrics(client, into, labels)
  const stopEvents = sluice.onAny((event) => events.note(event))
  const gauges = gaugeMetrics(client, into, { labels, read: gaugeReader(sluice) })
  return {
    register: into,
    contentType: into.contentType,
    text: () => into.metrics(),
    fetch: async () => new Response(await into.metrics(), { headers: { 'content-type': into.contentType } }),
    stop() {
      stopEvents()
      for (const name of [...events.names, ...gauges.names]) into.removeSingleMetric(name)
    },
  }
}
