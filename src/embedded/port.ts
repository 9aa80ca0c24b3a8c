import { randomInt } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { SluiceError } from '../errors.ts'
import type { Folder } from './folder.ts'

export const host = '127.0.0.1'

/** The port to try first: the one asked for, else that of the last start, else a free one. */
export async function choosePort(folder: Folder, asked: number | undefined): Promise<number> {
  if (asked !== undefined) {
    if (await becomesFree(asked)) return asked
    throw portTaken(asked)
  }
  const remembered = Number(await readFile(folder.port, 'utf8').catch(() => ''))
  return isPort(remembered) && (await isFree(remembered)) ? remembered : freePort()
}

export function checkPort(asked: number | undefined): void {
  if (asked === undefined || isPort(asked)) return
  throw new SluiceError('CONFIG_INVALID', {
    message: `The port ${asked} for the embedded PostgreSQL is none. Give a whole number from 1 to 65535, or leave it out.`,
    details: { port: asked },
  })
}

const isPort = (port: number): boolean => Number.isInteger(port) && port > 0 && port < 65_536

export function portTaken(port: number, reason?: string): SluiceError {
  const because = reason === undefined ? '' : ` (${reason})`
  return new SluiceError('EMBEDDED_PORT_TAKEN', {
    message:
      `Port ${port} on ${host} is taken by another program${because}. ` +
      'Stop that program, give another port, or leave the port out to have a free one chosen.',
    details: { port },
  })
}

/** The smallest question of PostgreSQL's protocol, answered with one letter: do you speak TLS? */
const question = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/**
 * Whether a PostgreSQL answers on this port within a second. That it accepts a connection proves nothing: the system
 * does so on behalf of a server that was killed this instant.
 */
export const answers = (port: number): Promise<boolean> => probe(port, 'data')

function probe(port: number, event: 'connect' | 'data'): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host, port })
    if (event === 'data') socket.write(question)
    const settle = (answer: boolean): void => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(1_000, () => settle(false))
    socket.once(event, () => settle(true))
    socket.once('error', () => settle(false))
    socket.once('close', () => settle(false))
  })
}

/**
 * A free port below those that systems hand out for outgoing connections: else, while the server is down for a restart,
 * one of its own clients that tries to connect again could be given its port.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries++) {
    const candidate = randomInt(20_000, 32_000)
    if (await isFree(candidate)) return candidate
  }
  const port = await listenOnce(0)
  if (typeof port === 'number') return port
  throw port
}

/** A server that has just been killed may hold its port for an instant longer. */
async function becomesFree(port: number): Promise<boolean> {
  for (let tries = 0; tries < 10; tries++) {
    if (await isFree(port)) return true
    await sleep(50)
  }
  return false
}

/** Some systems let two programs listen on one port when their addresses differ, so connecting is tried first. */
async function isFree(port: number): Promise<boolean> {
  if (await probe(port, 'connect')) return false
  const outcome = await listenOnce(port)
  return typeof outcome === 'number' || outcome.code !== 'EADDRINUSE'
}

function listenOnce(port: number): Promise<number | NodeJS.ErrnoException> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', resolve)
    server.listen({ host, port, exclusive: true }, () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : port))
    })
  })
}
