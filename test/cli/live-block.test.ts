import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { LiveBlock } from '../../src/cli/live-block.ts'

function blockOn(columns: number): {
  block: LiveBlock
  terminal: PassThrough & { columns: number }
  written: () => string
} {
  const terminal = Object.assign(new PassThrough(), { columns })
  const block = new LiveBlock(terminal)
  const written = (): string => String(terminal.read() ?? '').replaceAll('\u001B', '<')
  return { block, terminal, written }
}

test('is drawn again in place, with the cursor hidden until its end', () => {
  const { block, written } = blockOn(80)
  block.draw(['a', 'b'])
  expect(written()).toBe('<[?25l<[0Ja\nb\n')
  block.draw(['c'])
  expect(written()).toBe('<[2A\r<[0Jc\n')
  block.draw(['d'])
  expect(written()).toBe('<[1A\r<[0Jd\n')
  block.end()
  expect(written()).toBe('<[?25h')
})

test('stays below a line that is said', () => {
  const { block, written } = blockOn(80)
  block.say('before')
  block.draw(['a'])
  block.say('between')
  expect(written()).toBe('<[0Jbefore\n<[?25l<[0Ja\n<[1A\r<[0Jbetween\n<[0Ja\n')
  block.end()
})

test('counts the rows anew when the window was made narrower', () => {
  const { block, terminal, written } = blockOn(80)
  block.draw(['x'.repeat(60), 'y'])
  written()
  terminal.columns = 25
  block.draw(['z'])
  expect(written()).toBe('<[4A\r<[0Jz\n')
  block.end()
})

test('gives the cursor back once', () => {
  const { block, written } = blockOn(80)
  const before = process.listenerCount('exit')
  block.end()
  block.draw(['a'])
  expect(process.listenerCount('exit')).toBe(before + 1)
  block.end()
  block.end()
  expect(process.listenerCount('exit')).toBe(before)
  expect(written()).toBe('<[?25l<[0Ja\n<[?25h')
})
