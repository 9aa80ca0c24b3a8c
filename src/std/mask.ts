/**
 * Decision: secrets are masked by path where args are shown, and by value in texts such as error messages, which have
 * no paths. Everything that is reported about an attempt passes one function (in `jobs/runner.ts`) before it is stored
 * or emitted.
 */
/** What stands in the place of something that is nobody's business. */
export const masked = '[redacted]'

const form = /^args(\.(\*|[A-Za-z0-9_$-]+))+$/

/** What is wrong with paths such as `args.token` or `args.users.*.password`; undefined when nothing is. */
export function problemOfPaths(paths: unknown): string | undefined {
  if (!Array.isArray(paths)) return 'must be a list of paths such as "args.token"'
  const wrong = paths.find((path) => typeof path !== 'string' || !form.test(path)) as unknown
  return wrong === undefined
    ? undefined
    : `has ${JSON.stringify(wrong)}, which is no path such as "args.token" or "args.users.*.key"`
}

/** Args as others may see them: what is at one of the paths is masked, whatever it is. */
export function mask<T>(args: T, paths: readonly string[]): T {
  return paths.reduce((seen, path) => masking(seen, path.split('.').slice(1)), args as unknown) as T
}

function masking(value: unknown, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value === null || value === undefined ? value : masked
  if (typeof value !== 'object' || value === null) return value
  const fits = (name: string): boolean => key === '*' || key === name
  if (Array.isArray(value)) return value.map((one, at) => (fits(String(at)) ? masking(one, rest) : (one as unknown)))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, fits(name) ? masking(one, rest) : one]))
}

/** Shorter texts are in too many others by chance. */
const leastLength = 4

/** The texts and numbers at paths of args, for {@link scrub}; the longest first, as one may be part of another. */
export function secretsAt(args: unknown, paths: readonly string[]): string[] {
  const found = new Set<string>()
  for (const path of paths) collect(args, path.split('.').slice(1), found)
  return [...found].toSorted((a, b) => b.length - a.length)
}

function collect(value: unknown, [key, ...rest]: readonly string[], into: Set<string>): void {
  if (key === undefined) return gather(value, into)
  if (typeof value !== 'object' || value === null) return
  for (const [name, one] of Object.entries(value)) if (key === '*' || key === name) collect(one, rest, into)
}

function gather(value: unknown, into: Set<string>): void {
  if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) gather(one, into)
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : ''
  if (text.length < leastLength) return
  into.add(text)
  // As it stands in JSON, and in an address.
  into.add(JSON.stringify(text).slice(1, -1))
  into.add(encodeURIComponent(text.toWellFormed()))
}

/** The same with secrets masked in all texts of it: messages, stacks, fields of a log line. */
export function scrub<T>(value: T, secrets: readonly string[]): T {
  return (secrets.length === 0 ? value : scrubbing(value, secrets, 0)) as T
}

const deepest = 20

function scrubbing(value: unknown, secrets: readonly string[], depth: number): unknown {
  if (typeof value === 'string') return secrets.reduce((text, secret) => text.replaceAll(secret, masked), value)
  if (typeof value === 'number') return secrets.includes(String(value)) ? masked : value
  if (typeof value !== 'object' || value === null || value instanceof Date) return value
  // What is so deep cannot be looked through, and is not shown.
  if (depth > deepest) return masked
  if (Array.isArray(value)) return value.map((one) => scrubbing(one, secrets, depth + 1))
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, scrubbing(one, secrets, depth + 1)]))
}
