import { setTimeout as sleep } from 'node:timers/promises'
import { patiently } from './patience.ts'

/** Asks until the answer is yes; fails with the question when that takes too long. */
export async function until(question: string, ask: () => boolean | Promise<boolean>, limitMs = 60_000): Promise<void> {
  const end = Date.now() + patiently(limitMs)
  while (!(await ask())) {
    if (Date.now() > end) throw new Error(`waited ${patiently(limitMs)} ms in vain until ${question}`)
    await sleep(20)
  }
}
