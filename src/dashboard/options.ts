import { didYouMean, SluiceError } from '../index.ts'
import type { Visitor } from './roles.ts'

/** How a dashboard is made. */
export interface DashboardOptions {
  /**
   * Says who sends a request and what they may do, by the session of your application; null or undefined: nobody. An
   * error counts as nobody.
   */
  authorize: (request: Request) => Promise<Visitor | null | undefined> | Visitor | null | undefined
  /** Where it is mounted, such as `/admin/sluice`. Default: the root. */
  basePath?: string
  /** Shown on every page, such as `staging`. Default: `NODE_ENV`, or `development`. */
  environment?: string
  /** Whether what destroys something needs a typed confirmation. Default: when the environment is named `prod…`. */
  production?: boolean
  /** The hosts by which it may be asked for, such as `ops.example.com`. Default: any that your application answers to. */
  hosts?: readonly string[]
  /** Shows, and changes nothing, whoever asks. */
  readOnly?: boolean
  /** Where traces are looked at, such as `https://tempo.example.com/trace/{traceId}`; jobs then link to theirs. */
  traces?: string
}

/** The options with every value filled in. */
export interface ResolvedOptions {
  base: string
  environment: string
  production: boolean
  hosts: readonly string[] | undefined
  readOnly: boolean
  traces: string | null
}

const known = ['authorize', 'basePath', 'environment', 'production', 'hosts', 'readOnly', 'traces']

/** Checks the options and fills in the rest. */
export function resolveOptions(options: DashboardOptions): ResolvedOptions {
  for (const key of Object.keys(options)) {
    if (!known.includes(key)) throw invalid(key, `is not an option.${didYouMean(key, known)}`)
  }
  if (typeof options.authorize !== 'function') {
    throw new SluiceError('DASHBOARD_UNGUARDED', {
      message: 'A dashboard needs "authorize": a function that says who sends a request, and with which role.',
    })
  }
  const {
    basePath = '/',
    environment = process.env['NODE_ENV'] ?? 'development',
    hosts,
    readOnly = false,
    traces,
  } = options
  if (!/^(\/[\w.~-]+)*\/?$/.test(basePath)) throw invalid('basePath', 'must be a path such as "/admin/sluice"')
  if (hosts !== undefined && (!Array.isArray(hosts) || hosts.length === 0)) {
    throw invalid('hosts', 'must name at least one host, such as "ops.example.com"')
  }
  if (traces !== undefined && !/^https?:\/\/.*\{traceId\}/.test(traces)) {
    throw invalid(
      'traces',
      'must be an address with {traceId} in it, such as "https://tempo.example.com/trace/{traceId}"',
    )
  }
  return {
    base: basePath.replace(/\/$/, ''),
    environment: environment.slice(0, 40),
    production: options.production ?? /^prod/i.test(environment),
    hosts: hosts?.map((host) => host.toLowerCase()),
    readOnly,
    traces: traces ?? null,
  }
}

function invalid(option: string, problem: string): SluiceError {
  return new SluiceError('DASHBOARD_INVALID', {
    message: `The dashboard cannot be made: "${option}" ${problem.replace(/\.$/, '')}.`.replace('?.', '?'),
    details: { option },
  })
}
