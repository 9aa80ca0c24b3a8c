import { PassThrough } from 'node:stream'
import type { Command } from 'commander'
import { expect, test } from 'vitest'
import { Output } from '../../src/cli/output.ts'
import { createProgram } from '../../src/cli/program.ts'
import { version } from '../../src/index.ts'
import { sluice, sluiceHere } from './run-cli.ts'

test.each([
  [['migrat'], "unknown command 'migrat'", 'migrate'],
  [['ops', 'shwo'], "unknown command 'shwo'", 'show'],
  [['job', 'list'], "unknown command 'job'", 'jobs'],
  [['jobs', 'lst'], "unknown command 'lst'", 'list'],
  [['queues', 'puase', 'x'], "unknown command 'puase'", 'pause'],
  [['migrate', '--chek'], "unknown option '--chek'", '--check'],
  [['worker', '--concurency', '2'], "unknown option '--concurency'", '--concurrency'],
  [['grants', '--schem', 'x'], "unknown option '--schem'", '--schema'],
])('sluice %j answers with what was meant', async (args, complaint, meant) => {
  const { exitCode, stdout, stderr } = await sluiceHere(args)
  expect(stderr).toContain(complaint)
  expect(stderr).toContain(`Did you mean ${meant}?`)
  expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' })
})

test('a command that is like no other is answered with where to look', async () => {
  const { exitCode, stderr } = await sluice(['schedules', 'frobnicate'])
  expect({ exitCode, stderr }).toEqual({
    exitCode: 2,
    stderr: "error: unknown command 'frobnicate'\nAdd --help to see the commands.\n",
  })
})

test('an error of usage is JSON on stdout when JSON was asked for', async () => {
  const { exitCode, stdout, stderr } = await sluice(['migrat', '--json'])
  expect(JSON.parse(stdout)).toEqual({
    version: 1,
    error: { code: 'USAGE', message: "unknown command 'migrat'\n(Did you mean migrate?)" },
  })
  expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: '' })
})

test('alone it prints the help', async () => {
  const { exitCode, stdout } = await sluice([])
  expect(stdout).toMatch(/^Usage: sluice/)
  for (const command of ['demo', 'init', 'migrate', 'worker', 'ops', 'jobs', 'queues', 'workers', 'doctor', 'grants'])
    expect(stdout).toContain(`  ${command}`)
  expect(exitCode).toBe(0)
})

test('every command takes the global options, before and after its name', async () => {
  const before = await sluiceHere(['--schema', 'other', 'grants'])
  const after = await sluiceHere(['grants', '--schema', 'other'])
  expect(before.stdout).toContain('other_worker')
  expect(after).toEqual(before)
})

test.each([[['--version']], [['-v']], [['ops', '-v']], [['ops', 'start', '--version']]])(
  'sluice %j prints the release',
  async (words) => {
    expect(await sluiceHere(words)).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' })
  },
)

test('--version of the built command line prints the release', async () => {
  expect(await sluice(['--version'])).toEqual({ exitCode: 0, stdout: `${version}\n`, stderr: '' })
})

test('each command prints its help with -h, --help and after the word help', async () => {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const look = { json: false, colour: false, quiet: false, verbose: false }
  const output = new Output({ stdout, stderr, env: {}, ...look })
  const program = await createProgram({ output, signal: new AbortController().signal, env: {}, folder: '/' })
  const paths = (command: Command, path: string[]): string[][] =>
    [path, ...command.commands.flatMap((below) => paths(below, [...path, below.name()]))].filter(([first]) => first)
  const commands = paths(program, [])
  expect(commands.length).toBeGreaterThan(60)
  for (const path of commands) {
    const asked = [
      [...path, '-h'],
      [...path, '--help'],
      ['help', ...path],
      ['--json', ...path, '-h'],
    ]
    const answers = await Promise.all(asked.map((words) => sluiceHere(words)))
    const [own] = answers
    expect(own).toMatchObject({ exitCode: 0, stderr: '' })
    expect(own?.stdout).toMatch(new RegExp(`^Usage: sluice ${path.join(' ')} `))
    for (const answer of answers) expect(answer).toEqual(own)
  }
  for (const words of [['help'], ['-h'], []]) {
    expect((await sluiceHere(words)).stdout).toMatch(/^Usage: sluice \[options\] \[command\]\n/)
  }
  expect((await sluiceHere(['ops', 'help', 'start'])).stdout).toMatch(/^Usage: sluice ops start /)
})

test.each([
  [['demo', '--rows', 'many'], 'whole number from 1,000 to 100,000,000'],
  [['worker', '--concurrency', '0'], 'whole number from 1 to 200'],
  [['worker', '--jobs', '0'], 'whole number from 1 to 10,000'],
  [['worker', '--queues', 'a,,b'], 'without an empty place'],
  [['migrate', '--sql', '--from', '-1'], 'whole number from 0'],
  [['migrate', '--from', '3'], '--from goes with --sql'],
  [['ops', 'set', 'id', '--pace', '2'], 'above 0 and up to 1'],
  [['ops', 'set', 'id', '--priority', 'urgent'], 'low, normal, high'],
  [['ops', 'set', 'id'], 'nothing to set'],
  [['ops', 'start', 'x', '--min', '5'], 'JSON array'],
])('sluice %j is refused with the range', async (args, complaint) => {
  const { exitCode, stderr } = await sluiceHere(args)
  expect(stderr).toContain(complaint)
  expect(exitCode).toBe(2)
})
