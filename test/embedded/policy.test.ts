import { expect, test } from 'vitest'
import { permits, pickAccount } from '../../src/embedded/account.ts'
import { initdbArguments } from '../../src/embedded/cluster.ts'
import { environment } from '../../src/embedded/environment.ts'
import { diagnose } from '../../src/embedded/log.ts'
import { isServer, parsePostmaster } from '../../src/embedded/postmaster.ts'
import { isClaimed } from '../../src/embedded/turn.ts'

const passwd = 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\npostgres:x:101:104::/:/bin/sh\n\n'

test('root drops to the folder’s owner, else to postgres, else to nobody, and never to itself', () => {
  const stranger = { uid: 1000, gid: 1000 }
  expect(pickAccount({ uid: 65534, gid: 7, settled: false }, passwd)).toEqual({ name: 'nobody', uid: 65534, gid: 7 })
  expect(pickAccount({ ...stranger, settled: true }, passwd)).toEqual({ name: 'uid 1000', ...stranger })
  expect(pickAccount({ ...stranger, settled: false }, passwd)?.name).toBe('postgres')
  expect(pickAccount({ uid: 0, gid: 0, settled: true }, passwd)).toEqual({ name: 'postgres', uid: 101, gid: 104 })
  expect(pickAccount(undefined, passwd.replace(/^postgres.*$/m, ''))?.name).toBe('nobody')
  expect(pickAccount(undefined, 'root:x:0:0::/root:/bin/sh\npostgres:x:0:0::/:/bin/sh')).toBeUndefined()
})

test.each([
  [{ uid: 7, gid: 0, mode: 0o700 }, true],
  [{ uid: 7, gid: 0, mode: 0o077 }, false],
  [{ uid: 0, gid: 8, mode: 0o710 }, true],
  [{ uid: 0, gid: 8, mode: 0o701 }, false],
  [{ uid: 0, gid: 0, mode: 0o701 }, true],
  [{ uid: 0, gid: 0, mode: 0o770 }, false],
])('the first class of permission bits that fits decides: %o', (owned, allowed) => {
  expect(permits(owned, { name: 'a', uid: 7, gid: 8 }, 1)).toBe(allowed)
})

test('postmaster.pid is read also while it is being written', () => {
  const text = '4711\n/x/cluster/data\n1770000000\n5433\n\n127.0.0.1\n  1234   5\nready   \n'
  expect(parsePostmaster(text)).toEqual({ pid: 4711, data: '/x/cluster/data', port: 5433, status: 'ready' })
  expect(parsePostmaster('4711\n/x')).toMatchObject({ pid: 4711, status: '' })
  expect(parsePostmaster('')).toBeUndefined()
})

test('a server is known by the folder in its command line', () => {
  const server = { pid: 1, data: '/x/data', port: 1, status: 'ready' }
  expect(isServer(server, '/x/data', '/bin/postgres -D /x/data -p 5433')).toBe(true)
  expect(isServer(server, '/x/data', '/bin/postgres -D /y/data -p 5433')).toBe(false)
  expect(isServer(server, '/x/data', 'tail -f /x/data/postmaster.pid')).toBe(false)
  expect(isServer(server, '/x/data', '')).toBe(false)
})

test.each([
  ['FATAL:  could not bind IPv4 address "127.0.0.1": Address already in use', 'port'],
  ['FATAL:  pre-existing shared memory block (key 1, ID 2) is still in use', 'in use'],
  ['FATAL:  lock file "postmaster.pid" already exists\nHINT:  Is another postmaster running?', 'in use'],
  ['FATAL:  unrecognized configuration parameter "x"', 'other'],
])('the cause of a failed start is read from the log: %s', (log, kind) => {
  expect(diagnose(log).kind).toBe(kind)
  expect(`FATAL:  ${diagnose(log).reason}`).toBe(log.split('\n')[0])
})

test('a turn is lost by the death or the silence of its holder', () => {
  expect(isClaimed(true, 900)).toBe(true)
  expect(isClaimed(false, 900)).toBe(false)
  expect(isClaimed(true, 60_000)).toBe(false)
})

test('the builtin locale is asked for only where PostgreSQL has it, a password always', () => {
  expect(initdbArguments('d', 'p', 18)).toContain('--builtin-locale=C.UTF-8')
  expect(initdbArguments('d', 'p', 16).join(' ')).not.toContain('builtin')
  for (const major of [14, 18]) expect(initdbArguments('d', 'p', major)).toContain('--auth=scram-sha-256')
})

test('the server inherits no secrets from our environment', () => {
  expect(environment({ PATH: '/bin', AWS_SECRET_ACCESS_KEY: 's', LC_ALL: 'de_DE' })).toEqual({
    PATH: '/bin',
    LC_ALL: 'C',
  })
})
