import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { hasColour } from '../../src/cli/colour.ts'
import { Output, renderLine, type OutputOptions } from '../../src/cli/output.ts'
import { redact } from '../../src/std/redact.ts'

test.each([
  ['a terminal', { flag: true, env: {}, terminal: true }, true],
  ['a pipe', { flag: true, env: {}, terminal: false }, false],
  ['--no-color', { flag: false, env: { FORCE_COLOR: '1' }, terminal: true }, false],
  ['NO_COLOR', { flag: true, env: { NO_COLOR: '1' }, terminal: true }, false],
  ['an empty NO_COLOR', { flag: true, env: { NO_COLOR: '' }, terminal: true }, true],
  ['FORCE_COLOR', { flag: true, env: { FORCE_COLOR: '1', CI: 'true' }, terminal: false }, true],
  ['FORCE_COLOR=0', { flag: true, env: { FORCE_COLOR: '0' }, terminal: true }, false],
  ['CI', { flag: true, env: { CI: 'true' }, terminal: true }, false],
  ['a dumb terminal', { flag: true, env: { TERM: 'dumb' }, terminal: true }, false],
])('colours: %s', (_, choice, expected) => {
  expect(hasColour(choice)).toBe(expected)
})

test.each([
  ['postgres://u:s3cret@h/x', 'postgres://u:***@h/x'],
  ['no postgres://u:s3@cr/et@h/x here', 'no postgres://u:***@h/x here'],
  ['a://u:s3cret@h and b://u:s3cret@h', 'a://u:***@h and b://u:***@h'],
  ['postgres://h/x?user=u&password=s3cret&ssl=1', 'postgres://h/x?user=u&password=***&ssl=1'],
  ['postgres://u@h/x', 'postgres://u@h/x'],
  ['http://example.org:80/a', 'http://example.org:80/a'],
])('%s is shown as %s', (text, shown) => {
  expect(redact(text)).toBe(shown)
})

test('text from outside cannot bring its own escapes, styles can', () => {
  expect(renderLine([['red', 'a\u001B]0;x\u0007']], true)).toBe('\u001B[31ma\\u001b]0;x\\u0007\u001B[39m')
  expect(renderLine(['a\u202Eb', ['red', 'c']], false)).toBe('a\\u202ebc')
})

function textOf(stream: PassThrough): string {
  return String(stream.read() ?? '')
}

function outputWith(options: Partial<OutputOptions>): { output: Output; read: () => [string, string] } {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const look = { json: false, colour: true, quiet: false, verbose: false }
  const output = new Output({ stdout, stderr, env: {}, ...look, ...options })
  return { output, read: () => [textOf(stdout), textOf(stderr)] }
}

test('data goes to stdout, everything else to stderr', () => {
  const { output, read } = outputWith({})
  output.data('answer')
  output.note('note')
  output.warn('careful')
  output.error('bad', 'CONFIG_INVALID')
  expect(read()).toEqual(['answer\n', 'note\nwarning: careful\nerror: bad (CONFIG_INVALID)\n'])
})

test('quiet leaves out notes and keeps errors', () => {
  const { output, read } = outputWith({ quiet: true })
  output.note('note')
  output.error('bad')
  expect(read()).toEqual(['', 'error: bad\n'])
})

test('among log lines notes are lines of JSON', () => {
  const { output, read } = outputWith({})
  output.writeNotesAsJson()
  output.error('bad', 'CONFIG_INVALID')
  const [, stderr] = read()
  expect(JSON.parse(stderr)).toMatchObject({ level: 60, code: 'CONFIG_INVALID', msg: 'error: bad (CONFIG_INVALID)' })
})
