/**
 * # sluice/embedded
 *
 * A real PostgreSQL for development, demos and tests, from an npm package that holds nothing but the binaries.
 *
 * **The model.** One folder is one server. Everything of it lives below `dataDir`:
 *
 * ```
 * dataDir/                 0700, owned by the account that the server runs as
 *   cluster/               appears whole, by one rename, when initdb has finished
 *     data/                the PostgreSQL data directory
 *     password             0600, random, made with the cluster
 *   port                   the port of the last start
 *   server.log             what the server says
 *   starting.<pid>.<id>    there only while a process is starting the server
 * ```
 *
 * `startEmbedded` looks for a live server of that folder and attaches to it; else it takes its turn among the
 * processes that want to start it, makes the cluster if there is none, and spawns `postgres`.
 *
 * **The invariants.**
 * - The server listens on 127.0.0.1 only, has no unix socket, and wants a password (scram-sha-256) from everyone.
 * - It never runs as root. Started by root, it runs as the folder's owner, else as `postgres`, else as `nobody`.
 * - Whoever started a server may stop it; who attached to it may not, and their `stop()` does nothing.
 * - No install script is needed: library links that npm packages cannot carry are made at run time. When the package
 *   is read-only, or out of the server account's reach, its binaries are copied to a cache below the temporary folder.
 * - Every wait has an end: a start either returns a server that answers or throws a `SluiceError`.
 *
 * **What happens on crash.**
 * - *The Node process dies.* The server is detached and lives on; the next start attaches to it.
 * - *The server dies.* The next start runs PostgreSQL's crash recovery. `postmaster.pid` may name a process that is no
 *   longer a server (the number was given to another one, or nobody reaped it): it is then told apart by its command
 *   line. The shared memory check of PostgreSQL is kept, so that orphaned backends still hold off a second server.
 * - *A start dies half-way.* A half-made cluster has another name and is swept away by the next start; a turn that was
 *   left behind counts for nothing once its process is gone.
 *
 * @module
 */
export { startEmbedded } from './server.ts'
export type { EmbeddedOptions, EmbeddedPostgres } from './server.ts'
