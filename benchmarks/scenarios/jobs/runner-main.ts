// One system in one process, driven over IPC: the peers want a newer Node than Sluice, and a worker shares its process
// with nothing else.
import { Runner } from './runner.ts'
import type { Answer, Call } from './child.ts'

const runner = new Runner((done, at) => answer({ done, at }))

process.on('message', (call: Call) => void perform(call))
// Whoever started this process is gone.
process.once('disconnect', () => process.exit())

async function perform({ id, name, args }: Call): Promise<void> {
  try {
    const value = await (runner[name] as (...args: unknown[]) => Promise<unknown>).apply(runner, args)
    if (id !== undefined) answer({ id, value })
  } catch (error) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error)
    if (id === undefined) process.stderr.write(`${text}\n`)
    else answer({ id, error: text })
  }
}

function answer(message: Answer): void {
  process.send?.(message)
}
