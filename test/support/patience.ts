import { once } from 'node:events'
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'

const name = 'SLUICE_TEST_PATIENCE'

/**
 * How many times slower this machine is than an idle one, measured once before the tests begin. Limits of helpers and
 * the short leases of tests are multiplied by it: what waits longer only fails later, and nobody is taken for dead
 * because the machine is busy.
 */
const patience = (): number => Number(process.env[name] ?? '1')

/** A time that is long enough on an idle machine, as long as it has to be on this one. */
export const patiently = (ms: number): number => Math.round(ms * patience())

/** What the work below takes on two idle cores. */
const idleMs = 250

const work = 'let x = 1; for (let i = 0; i < 4e7; i++) x = (Math.imul(x, 1103515245) + 12345) | 0'

/** Keeps every core busy for a moment and compares the time with that of an idle machine. */
export async function measurePatience(): Promise<void> {
  if (process.env[name] !== undefined) return
  const began = performance.now()
  const threads = Array.from({ length: availableParallelism() }, () => new Worker(work, { eval: true }))
  await Promise.all(threads.map((thread) => once(thread, 'exit')))
  const factor = (performance.now() - began) / idleMs
  process.env[name] = String(Math.min(10, Math.max(1, factor)))
}
