import { setTimeout as sleep } from 'node:timers/promises'

/** Asks until the answer is yes; fails with the question when that takes too long. */
export async function until(question: string, ask: () => boolean | Promise<boolean>, limitMs = 20_000): Promise<void> {
  const end = Date.now() + limitMs
  while (!(await ask())) {
    if (Date.now() > end) throw new Error(`waited ${limitMs} ms in vain until ${question}`)
    await sleep(20)
  }
}
