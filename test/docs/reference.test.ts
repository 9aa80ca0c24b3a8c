import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { describe, expect, test } from 'vitest'
import { exitCodes, outcomeOf } from '../../src/cli/exit-codes.ts'
import { Output } from '../../src/cli/output.ts'
import { createProgram } from '../../src/cli/program.ts'
import { defaults } from '../../src/config/config.ts'
import { read, rows, sections } from './pages.ts'

const sorted = (names: Iterable<string>): string[] => [...names].toSorted()

/** The options of one command; help is the same for all. */
const flagsOf = (command: Command): string[] =>
  command.options.map(({ flags }) => flags).filter((flags) => flags !== '-h, --help')

describe('errors', () => {
  const documented = sections(read('docs/reference/errors.md'), 2)
  const [, union = ''] = /SluiceErrorCode =([\s\S]*?)\n\n/.exec(read('src/errors.ts')) ?? []
  const codes = [...union.matchAll(/'(\w+)'/g)].map(([, code = '']) => code)

  test('are documented, all of them and no others', () => {
    expect(codes.length).toBeGreaterThan(20)
    expect(sorted(documented.keys())).toEqual(sorted(codes))
  })

  test.each(Object.entries(outcomeOf))('%s ends a command as documented', (code, outcome) => {
    expect(documented.get(code)).toContain(`Exit code ${exitCodes[outcome]}.`)
  })
})

describe('events', () => {
  const documented = sections(read('docs/reference/events.md'), 2)
  const source = read('src/telemetry/events.ts')
  const base = (name: string): string[] =>
    keysOf(new RegExp(`interface ${name}[^{]*\\{([\\s\\S]*?)\\n\\}`).exec(source)?.[1] ?? '')
  const [, body = ''] = /interface Events \{([\s\S]*?)\n\}/.exec(source) ?? []
  const events = [...body.matchAll(/^ {2}'?([a-z.-]+)'?: (.*)$/gm)].map(([, name = '', type = '']) => ({ name, type }))

  test('are documented, all of them and no others', () => {
    expect(events.length).toBeGreaterThan(15)
    expect(sorted(documented.keys())).toEqual(sorted(events.map(({ name }) => name)))
  })

  test.each(events)('$name is documented with its payload', ({ name, type }) => {
    const inherited = type.includes('OfBatch')
      ? [...base('OfOperation'), ...base('OfBatch')]
      : (/\bOf(?:Operation|Job)\b/.exec(type) ?? []).flatMap(base)
    const said = [...(documented.get(name) ?? '').matchAll(/`(\w+)`/g)].map(([, word]) => word)
    expect(said).toEqual(expect.arrayContaining([...inherited, ...keysOf(type)]))
  })

  test('have the documented level', () => {
    const [, levels = ''] = /const levels[^{]*\{([\s\S]*?)\n\}/.exec(read('src/telemetry/log.ts')) ?? []
    const inCode = new Map([...levels.matchAll(/'?([a-z.-]+)'?: '(\w+)'/g)].map(([, name, level]) => [name, level]))
    const inDocs = new Map(
      [...documented].flatMap(([name, text]) =>
        (/^\s*Level `(\w+)`/.exec(text) ?? []).slice(1).map((level) => [name, level]),
      ),
    )
    expect(inDocs).toEqual(inCode)
  })
})

function keysOf(type: string): string[] {
  return [...type.matchAll(/(\w+)\??: /g)].map(([, key = '']) => key)
}

describe('configuration', () => {
  const documented = new Map(
    rows(read('docs/reference/config.md'))
      .slice(2)
      .map(([name = '', , value = '']) => [name, value]),
  )
  const [, known = ''] = /const known = \{([\s\S]*?)\n\}/.exec(read('src/config/resolve.ts')) ?? []
  const rooms = new Map(
    [...known.matchAll(/^ {2}'?(\w*)'?: \[([^\]]*)\]/gm)].map(([, room = '', list = '']) => [
      room,
      [...list.matchAll(/\w+/g)].map(String),
    ]),
  )

  const [, jobKeys = ''] = /const jobKeys = \[(.*)\]/.exec(read('src/config/resolve.ts')) ?? []
  rooms.set('worker.jobs', [...jobKeys.matchAll(/\w+/g)].map(String))

  test('options are documented, all of them and no others', () => {
    const options = [...rooms]
      .flatMap(([room, names]) => names.map((name) => (room === '' ? name : `${room}.${name}`)))
      .filter((option) => !rooms.has(option))
    expect(options.length).toBeGreaterThan(10)
    expect(sorted(documented.keys())).toEqual(sorted(options))
  })

  test('defaults are the documented ones', () => {
    const flatten = (values: object, prefix: string): [string, unknown][] =>
      Object.entries(values).flatMap(([name, value]: [string, unknown]) =>
        typeof value === 'object' && value !== null
          ? flatten(value, `${prefix}${name}.`)
          : [[`${prefix}${name}`, value]],
      )
    const flat = flatten(defaults, '')
    expect(Object.fromEntries(flat.map(([name]) => [name, documented.get(name)]))).toEqual(
      Object.fromEntries(flat.map(([name, value]) => [name, String(value)])),
    )
  })
})

describe('the command line', async () => {
  const page = sections(read('docs/reference/cli.md'), 2)
  const streams = { stdout: new PassThrough(), stderr: new PassThrough(), env: {} }
  const output = new Output({ ...streams, json: false, colour: false, quiet: false, verbose: false })
  const program = await createProgram({ output, signal: new AbortController().signal, env: {}, folder: '.' })
  const leaves = (command: Command, path: string): [string, Command][] =>
    command.commands.length === 0
      ? [[path, command]]
      : command.commands.flatMap((c) => leaves(c, `${path} ${c.name()}`))
  const commands = leaves(program, 'sluice')
  const documentedFlags = (heading: string): string[] =>
    rows(page.get(heading) ?? '')
      .slice(2)
      .map(([flags = '']) => flags)

  test('has the documented commands', () => {
    expect(sorted([...page.keys()].filter((heading) => heading.startsWith('sluice ')))).toEqual(
      sorted(commands.map(([path]) => path)),
    )
  })

  test.each(commands)('%s has the documented options', (path, command) => {
    expect(sorted(documentedFlags(path))).toEqual(sorted(flagsOf(command)))
  })

  test('has the documented global options', () => {
    expect(sorted(documentedFlags('Global options'))).toEqual(sorted([...flagsOf(program), '-h, --help']))
  })

  test('has the documented exit codes', () => {
    const documented = rows(page.get('Exit codes') ?? '')
      .slice(2)
      .map(([code, name]) => [name, Number(code)])
    expect(Object.fromEntries(documented)).toEqual(exitCodes)
  })
})
