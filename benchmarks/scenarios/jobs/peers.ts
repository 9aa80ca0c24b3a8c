import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Compared with, but never depended on: they live in a cache folder with a package.json of its own. */
const folder = fileURLToPath(new URL('../../../node_modules/.cache/peers', import.meta.url))

const nodePackage = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`

const versions: Record<string, string> = {
  'graphile-worker': '0.18.0',
  'pg-boss': '12.35.0',
  bullmq: '6.7.0',
  ioredis: '6.0.0',
  // The peers want a newer Node than Sluice does.
  [nodePackage]: '24.21.0',
}

/** Fetches the peers and the Node that they run on, unless they are there already. Gives what the report says of them. */
export function installPeers(say: (line: string) => void): string {
  if (!Object.entries(versions).every(([name, version]) => installed(name) === version)) {
    say('fetching the peers from npm')
    mkdirSync(folder, { recursive: true })
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ private: true, dependencies: versions })}\n`)
    const flags = ['--no-save', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error']
    execFileSync('npm', ['install', ...flags], { cwd: folder, stdio: ['ignore', 'ignore', 'inherit'] })
  }
  const { [nodePackage]: node, ...peers } = versions
  const list = Object.entries(peers).map(([name, version]) => `${name} ${version}`)
  return `peers: ${list.join(', ')}, on Node ${node}`
}

/** The Node binary that peers run on. */
export function peerNode(): string {
  return join(folder, 'node_modules', nodePackage, 'bin', 'node')
}

/** A peer's module. Its user types it by shape: the type checker has to do without the packages. */
export function peer(name: string): unknown {
  return createRequire(join(folder, 'package.json'))(name)
}

function installed(name: string): string | undefined {
  try {
    const text = readFileSync(join(folder, 'node_modules', name, 'package.json'), 'utf8')
    return (JSON.parse(text) as { version: string }).version
  } catch {
    // Not there, or only half of it: npm puts it right.
    return undefined
  }
}
