/**
 * Metrics for the tools that you have: Prometheus by `prom-client`, OpenTelemetry by `@opentelemetry/api`. Both are
 * optional: install the one that you use.
 *
 * The model. Counters and histograms follow the events of this process, so each process has its own and a query sums
 * them up. Gauges (how long queues are, how operations stand) are read from the database when somebody asks, at a cost
 * that does not grow with the queues, at most every five seconds; every process gives the same, so a query takes one.
 *
 * Names of queues, jobs and operations are labels, ids and args never. Of each label the first two hundred names are
 * told apart, and all others are `other`: a name made by mistake for each customer does not fill your server.
 */
export { openTelemetry, type OpenTelemetryOptions } from './open-telemetry.ts'
export { prometheus, type PrometheusMetrics, type PrometheusOptions } from './prometheus.ts'
