import { useEffect, useState } from 'preact/hooks'
import { read, Refused } from './api.ts'
import { base } from './router.ts'

/** How what is shown is kept fresh. */
export type Connection = 'connecting' | 'live' | 'polling' | 'paused' | 'offline' | 'signed out'

/** What a page has of what it watches. */
export interface Live<T> {
  data: T | undefined
  error: Refused | undefined
}

type Part = { answer?: unknown; error?: { status: number; code: string; message: string } }

const pollMs = 4_000
const known = new Map<string, Live<unknown>>()
const watched = new Map<string, Set<() => void>>()
const connectionWatchers = new Set<() => void>()
let connection: Connection = 'connecting'
let source: EventSource | undefined
let opened = ''
let failures = 0
let timer: number | undefined
let stopped = false

function setConnection(next: Connection): void {
  if (next === connection) return
  connection = next
  for (const tell of connectionWatchers) tell()
}

function learn(path: string, live: Live<unknown>): void {
  // What was shown last is shown at once when somebody comes back; long ago does not matter.
  if (known.size > 100) for (const old of known.keys()) if (!watched.has(old)) known.delete(old)
  known.set(path, live)
  for (const tell of watched.get(path) ?? []) tell()
}

function take(path: string, { answer, error }: Part): void {
  const before = known.get(path)?.data
  learn(
    path,
    error === undefined
      ? { data: answer, error: undefined }
      : { data: before, error: new Refused(error.status, error.code, error.message) },
  )
}

/** Reads everything that is watched, once. */
export async function refresh(): Promise<boolean> {
  const results = await Promise.all(
    [...watched.keys()].map(async (path) => {
      try {
        take(path, { answer: await read(path) })
        return 200
      } catch (error) {
        const refused = error instanceof Refused ? error : new Refused(0, 'FAILED', String(error))
        learn(path, { data: known.get(path)?.data, error: refused })
        return refused.status
      }
    }),
  )
  if (results.includes(401)) setConnection('signed out')
  return results.every((status) => status !== 0 && status !== 401)
}

function close(): void {
  source?.close()
  source = undefined
  opened = ''
  window.clearTimeout(timer)
}

/** One stream per tab: for all that the page watches, none while nobody looks. */
function open(): void {
  const paths = [...watched.keys()]
  const wanted = paths.map((path) => `watch=${encodeURIComponent(path)}`).join('&')
  if (stopped || document.hidden) return
  if (wanted === opened && source !== undefined && source.readyState !== EventSource.CLOSED) return
  close()
  if (paths.length === 0) return
  opened = wanted
  const stream = new EventSource(`${base}/api/stream?${wanted}`)
  source = stream
  stream.addEventListener('news', (event) => {
    const { at, news } = JSON.parse((event as MessageEvent<string>).data) as { at: number; news: Part }
    const path = paths[at]
    if (path !== undefined) take(path, news)
  })
  stream.addEventListener('open', () => {
    failures = 0
    setConnection('live')
  })
  stream.addEventListener('error', () => {
    failures += 1
    if (stream !== source) return
    if (connection === 'live') setConnection('connecting')
    // The browser tries again by itself, until the server refuses or it takes too long.
    if (stream.readyState === EventSource.CLOSED || failures >= 3) void poll()
  })
}

/** Asks now and then while there is no stream, and tries the stream again once somebody answers. */
async function poll(): Promise<void> {
  close()
  const answered = await refresh()
  if (stopped || document.hidden || watched.size === 0) return
  if (connection !== 'signed out') setConnection(answered ? 'polling' : 'offline')
  if (answered) failures = 0
  timer = window.setTimeout(() => (answered ? open() : void poll()), pollMs)
}

let planned = false
function plan(): void {
  if (planned) return
  planned = true
  window.setTimeout(() => {
    planned = false
    open()
  }, 20)
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) {
    close()
    setConnection('paused')
  } else if (!stopped) {
    setConnection('connecting')
    open()
  }
})

/** Stops and starts the updates by hand. */
export function setPaused(paused: boolean): void {
  stopped = paused
  close()
  setConnection(paused ? 'paused' : 'connecting')
  if (!paused) open()
}

/** How what is shown is kept fresh, and again when that changes. */
export function useConnection(): Connection {
  const [now, setNow] = useState(connection)
  useEffect(() => {
    const update = (): void => setNow(connection)
    connectionWatchers.add(update)
    update()
    return () => void connectionWatchers.delete(update)
  }, [])
  return now
}

/** What a path below `/api` answers, kept fresh while it is shown; undefined: nothing is watched. */
export function useLive<T>(path: string | undefined): Live<T> {
  const [, setCount] = useState(0)
  useEffect(() => {
    if (path === undefined) return undefined
    const update = (): void => setCount((count) => count + 1)
    const listeners = watched.get(path) ?? new Set<() => void>()
    listeners.add(update)
    watched.set(path, listeners)
    plan()
    return () => {
      listeners.delete(update)
      if (listeners.size === 0) {
        watched.delete(path)
        plan()
      }
    }
  }, [path])
  return ((path === undefined ? undefined : known.get(path)) ?? { data: undefined, error: undefined }) as Live<T>
}
