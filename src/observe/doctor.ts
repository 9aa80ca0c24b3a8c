import { SluiceError } from '../errors.ts'
import type { Blindness, Probe } from '../governor/probe.ts'
import type { Database } from '../store/database.ts'
import { rightsOf } from '../store/rights.ts'
import { schemaStatus } from '../store/migrate.ts'
import type { SchemaStatus } from '../store/schema-status.ts'
import type { Pool } from '../store/pool.ts'
import { facts, missingRights, type ServerFacts } from '../store/server.ts'

/** One thing that was looked at, what was found, and what to do about it. */
export interface Finding {
  check: string
  level: 'ok' | 'warning' | 'problem'
  found: string
  /** What to do; there when the level is not `ok`. */
  remedy?: string
}

/** A health signal, and what it cannot see with this role. */
interface Sight {
  probe: Pick<Probe, 'title'>
  blindness: Blindness | undefined
}

const oldestServer = 140_000
/** Of objects on which rights are missing. Who lacks more has not run the script at all. */
const mostNamed = 10

/** Looks at everything that commonly goes wrong. Reads only. */
export async function examine(database: Database, probes: readonly Sight[]): Promise<Finding[]> {
  const { server, skewMs } = await measure(database.control)
  const schema = await schemaFindings(database.control).catch(unreadableSchema)
  return [
    runtimeFinding(process.versions.node),
    { check: 'reachability', level: 'ok', found: `connected as role "${server.role}"` },
    serverFinding(server),
    primaryFinding(server),
    ...schema,
    ...(await rightsFindings(database.control, server)),
    poolerFinding(database.pooled),
    isolationFinding(server),
    skewFinding(skewMs),
    ...durabilityFindings(server),
    ...probeFindings(probes),
  ]
}

async function measure(control: Pool): Promise<{ server: ServerFacts; skewMs: number }> {
  await control.query('select 1', [])
  const before = Date.now()
  const [server] = await facts(control)
  const after = Date.now()
  if (server === undefined) throw new Error('the server told nothing about itself')
  return { server, skewMs: server.clock.getTime() - (before + after) / 2 }
}

export function runtimeFinding(node: string): Finding {
  const [major = 0, minor = 0] = node.split('.').map(Number)
  if (major > 20 || (major === 20 && minor >= 19)) return { check: 'node', level: 'ok', found: `Node.js ${node}` }
  return { check: 'node', level: 'problem', found: `Node.js ${node}`, remedy: 'Install Node.js 20.19 or newer.' }
}

export function serverFinding({ version, version_num }: Pick<ServerFacts, 'version' | 'version_num'>): Finding {
  const found = `PostgreSQL ${version}`
  if (version_num >= oldestServer) return { check: 'server', level: 'ok', found }
  return { check: 'server', level: 'problem', found, remedy: 'Upgrade to PostgreSQL 14 or newer.' }
}

export function primaryFinding({ in_recovery, read_only }: Pick<ServerFacts, 'in_recovery' | 'read_only'>): Finding {
  if (in_recovery) {
    return { check: 'primary', level: 'problem', found: 'this server is a replica', remedy: 'Connect to the primary.' }
  }
  if (read_only === 'on') {
    const remedy = 'Set default_transaction_read_only to off for this role, or connect with another one.'
    return { check: 'primary', level: 'problem', found: 'transactions are read-only by default', remedy }
  }
  return { check: 'primary', level: 'ok', found: 'writable' }
}

async function schemaFindings(control: Pool): Promise<Finding[]> {
  const status = await schemaStatus(control)
  const { found } = status
  const at = found === 0 ? `no schema "${control.schema}"` : `schema "${control.schema}" at version ${found}`
  if (status.state === 'current') return [{ check: 'schema', level: 'ok', found: at }]
  const [problem, remedy] = schemaProblem(status)
  return [{ check: 'schema', level: 'problem', found: `${at}${problem}`, remedy }]
}

function schemaProblem({ state, found, needed }: SchemaStatus): [found: string, remedy: string] {
  if (state === 'ahead') return [', newer than this release knows', 'Deploy the newer release of Sluice here.']
  if (state === 'foreign') {
    return [
      ', made by a Sluice from before the first release',
      'Drop it and run "sluice migrate", or name another schema in the configuration.',
    ]
  }
  const lacks = found < needed ? `; version ${needed} is needed` : ', with functions of another release'
  return [lacks, 'Run "sluice migrate".']
}

/** Whoever may not even read which version it is needs the rights, which are the next thing that is looked at. */
function unreadableSchema(error: unknown): Finding[] {
  if (!(error instanceof SluiceError) || error.code !== 'PERMISSION_DENIED') throw error
  const remedy = 'Give the role its rights first: "sluice grants" prints the SQL.'
  return [{ check: 'schema', level: 'problem', found: 'this role may not read its version', remedy }]
}

async function rightsFindings(control: Pool, server: ServerFacts): Promise<Finding[]> {
  if (server.schema_usage === null) return []
  const remedy = `Run the SQL that "sluice grants" prints, then: grant ${control.schema}_worker to ${server.role};`
  if (!server.schema_usage)
    return [{ check: 'rights', level: 'problem', found: `no usage on schema "${control.schema}"`, remedy }]
  const missing = (await missingRights(control, rightsOf('worker'))).map((row) => row.missing)
  if (missing.length > 0) {
    const more = missing.length > mostNamed ? `; and on ${missing.length - mostNamed} more` : ''
    const found = `missing: ${missing.slice(0, mostNamed).join('; ')}${more}`
    return [{ check: 'rights', level: 'problem', found, remedy }]
  }
  if (server.superuser) {
    const advice = `Run workers with a narrow role: "sluice grants" prints the SQL.`
    return [{ check: 'rights', level: 'warning', found: `role "${server.role}" is a superuser`, remedy: advice }]
  }
  return [{ check: 'rights', level: 'ok', found: 'all that a worker needs' }]
}

export function poolerFinding(pooled: boolean): Finding {
  if (!pooled) return { check: 'pooler', level: 'ok', found: 'direct connection' }
  return {
    check: 'pooler',
    level: 'warning',
    found: 'a pooler is in between; Sluice works through it, with its settings in each transaction',
    remedy:
      'Connect directly where you can: then workers hear of new jobs at once, and statements take fewer round trips. If the pooler is in session mode, set "pooler" to "none" in the configuration.',
  }
}

/** Sluice begins its own transactions as read committed. Those that it is given as `tx` are the application's. */
export function isolationFinding({ isolation }: Pick<ServerFacts, 'isolation'>): Finding {
  const found = `transactions are ${isolation} by default`
  if (isolation === 'read committed') return { check: 'isolation', level: 'ok', found }
  return {
    check: 'isolation',
    level: 'warning',
    found: `${found}; those of Sluice itself are read committed`,
    remedy:
      'Begin transactions that you give to Sluice as "tx" with "begin isolation level read committed", or be ready to run them again after SQLSTATE 40001.',
  }
}

export function skewFinding(skewMs: number): Finding {
  const found = `this machine's clock is ${Math.abs(Math.round(skewMs))} ms ${skewMs > 0 ? 'behind' : 'ahead of'} the server's`
  if (Math.abs(skewMs) < 2_000) return { check: 'clock', level: 'ok', found }
  return {
    check: 'clock',
    level: 'warning',
    found,
    remedy: "Leases use the server's clock and stay right, but logs will not line up: synchronise the clocks (NTP).",
  }
}

export function durabilityFindings(
  server: Pick<ServerFacts, 'fsync' | 'full_page_writes' | 'synchronous_commit'>,
): Finding[] {
  const risky = (['fsync', 'full_page_writes'] as const)
    .filter((setting) => server[setting] === 'off')
    .map((setting): Finding => ({
      check: setting,
      level: 'problem',
      found: 'off: a power failure can destroy the database',
      remedy: `Set ${setting} = on in postgresql.conf and reload.`,
    }))
  if (server.synchronous_commit === 'off') {
    return [
      ...risky,
      {
        check: 'synchronous_commit',
        level: 'warning',
        found: 'off: a server crash can lose the last commits, always rows and checkpoint together',
        remedy: 'Set synchronous_commit = on for this role, unless you can start such work again.',
      },
    ]
  }
  return risky.length > 0
    ? risky
    : [{ check: 'durability', level: 'ok', found: 'fsync, full_page_writes and synchronous_commit are on' }]
}

/** What the governor can see, and for the rest the SQL that lets it. */
function probeFindings(probes: readonly Sight[]): Finding[] {
  const seen = probes.filter(({ blindness }) => blindness === undefined).map(({ probe }) => probe.title)
  const blind = probes.flatMap(({ probe, blindness }): Finding[] =>
    blindness === undefined
      ? []
      : [
          {
            check: 'health signals',
            level: 'warning',
            found: `${probe.title} does not count: ${blindness.reason}`,
            remedy: blindness.remedy,
          },
        ],
  )
  return [{ check: 'health signals', level: 'ok', found: `can be read: ${seen.join(', ') || 'none'}` }, ...blind]
}
