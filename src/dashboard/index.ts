/**
 * # sluice/dashboard
 *
 * Pages on which people watch operations and jobs, and stop them.
 *
 * **The model.** One handler of the fetch kind answers everything: the one page, its three files, the API, the stream.
 * The API is a table (`contract.ts`): each route with its method, role, input and answer. Handlers call the same verbs
 * as the command line; there is no SQL here. A page watches what it shows: the server reads it once per interval for
 * all who watch the same, on a few connections of its own with a limit of five seconds.
 *
 * **The invariants.**
 * - Nobody is answered without `authorize`, or without the token of the start on the loopback address.
 * - The role is looked at on the server, for each route, by the table. What a page hides is refused as well.
 * - Only a POST changes anything: of JSON, from our own origin, with a header that other sites cannot send.
 * - What acts names the state that was seen; in another state nothing is done.
 * - Everything that leaves passes one place (`wire.ts`). Pages make text of it, never HTML.
 *
 * **Decisions.** Routes, roles, input checks and the OpenAPI document come from one table, and a route without a
 * handler does not compile. A tab has one stream for all that it watches. The expected state is part of the `where`
 * clause of the statement that acts, not only of a check before it.
 *
 * **On a crash** nothing is lost: the server keeps nothing but open streams. Pages connect again by themselves.
 *
 * @module
 */
import type { Sluice } from '../index.ts'
import { makeDashboard, type Dashboard } from './make.ts'
import type { DashboardOptions } from './options.ts'

export type { Dashboard } from './make.ts'
export type { DashboardOptions } from './options.ts'
export type { FastifyPlugin, Fetch, NodeListener } from './mounts.ts'
export type { Role, Visitor } from './roles.ts'
export { serveDashboard, type ServeOptions, type ServedDashboard } from './serve.ts'

/**
 * Makes a dashboard, to be mounted in an application that knows who its users are.
 *
 * @example
 * ```ts
 * import { createDashboard } from 'sluice/dashboard'
 * import { createServer } from 'node:http'
 *
 * const dashboard = createDashboard(sluice, {
 *   authorize: (request) => (request.headers.get('x-user') === 'ann' ? { user: 'ann', role: 'operator' } : null),
 * })
 * createServer(dashboard.node).listen(3000)
 * ```
 */
export function createDashboard(sluice: Sluice, options: DashboardOptions): Dashboard {
  return makeDashboard(sluice, options, undefined)
}
