import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Shell } from './shell.ts'

/** Thrown where a person has to say yes, and did not or could not. */
export class Unconfirmed extends Error {
  override readonly name = 'Unconfirmed'
}

/** Asks for a word to be typed, when there is a person at both ends. */
export async function confirmByWord(shell: Shell, { word, warning }: { word: string; warning: string }): Promise<void> {
  const { output } = shell
  if (!canAsk(output)) throw new Unconfirmed(`${warning} Nobody can be asked here: confirm with --yes.`)
  output.warn(warning)
  const answer = await ask(shell, `Type ${word} to confirm: `)
  if (answer !== word) throw new Unconfirmed(`That is not "${word}". Nothing was changed.`)
}

function canAsk({ json, stderr }: Shell['output']): boolean {
  return !json && process.stdin.isTTY && stderr.isTTY === true
}

/** A typed line; an empty one when the input ends. */
async function ask({ output, signal }: Shell, question: string): Promise<string> {
  const lines = createInterface({ input: process.stdin, output: output.stderr, prompt: output.render([question]) })
  // While it reads a line, the terminal leaves Ctrl-C to us.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  let answer: unknown
  try {
    lines.prompt()
    ;[answer] = await Promise.race([once(lines, 'line', { signal }), once(lines, 'close', { signal })])
  } finally {
    lines.close()
    // What is said next must not stand behind the question.
    if (answer === undefined) output.stderr.write('\n')
  }
  return typeof answer === 'string' ? answer.trim() : ''
}
