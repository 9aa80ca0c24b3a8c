// node scripts/complete-lock.js, after npm has changed package-lock.json: writes back the optional packages of other
// platforms that npm leaves out when the registry at hand does not have them. "npm ci" refuses a lock without them.
import { readFileSync, writeFileSync } from 'node:fs'

const file = new URL('../package-lock.json', import.meta.url)
const lock = JSON.parse(readFileSync(file, 'utf8'))
const systems = {
  android: 'android',
  darwin: 'darwin',
  freebsd: 'freebsd',
  linux: 'linux',
  openharmony: 'openharmony',
  win32: 'win32',
  windows: 'win32',
}
const processors = ['arm', 'arm64', 'ia32', 'loong64', 'ppc64', 'riscv64', 's390x', 'wasm32', 'x64']

/** What a platform package says of itself, read from its name: `@scope/binding-linux-x64-musl`. */
function entryOf(name, range, dev) {
  const parts = (name.split('/')[1] ?? name).split('-')
  const system = parts.find((part) => part in systems)
  const processor = parts.find((part) => processors.includes(part))
  if (system === undefined && processor !== 'wasm32') return undefined
  const libc =
    system !== 'linux'
      ? undefined
      : parts.some((part) => part.startsWith('musl'))
        ? 'musl'
        : parts.some((part) => part.startsWith('gnu'))
          ? 'glibc'
          : undefined
  return {
    version: range.replace(/^[\^~]/, ''),
    ...(processor && { cpu: [processor] }),
    ...(libc && { libc: [libc] }),
    ...(dev && { dev }),
    optional: true,
    ...(system && { os: [systems[system]] }),
  }
}

let added = 0
for (const [path, { optionalDependencies = {}, dev }] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(optionalDependencies)) {
    if (`node_modules/${name}` in lock.packages || `${path}/node_modules/${name}` in lock.packages) continue
    const entry = entryOf(name, range, dev)
    if (entry === undefined) continue
    lock.packages[`node_modules/${name}`] = entry
    added += 1
  }
}
const { '': own, ...others } = lock.packages
const sorted = Object.entries(others).toSorted(([a], [b]) => a.localeCompare(b, 'en'))
lock.packages = { '': own, ...Object.fromEntries(sorted) }
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`)
process.stdout.write(`${added} entries added\n`)
