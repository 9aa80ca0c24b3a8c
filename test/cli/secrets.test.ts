import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, inject, test } from 'vitest'
import { proving } from '../support/cluster.ts'
import { sluiceHere, temporaryFolder } from './run-cli.ts'

const url = 'postgres://u:s3cret@127.0.0.1:1/x'
const id = '01890000-0000-7000-8000-000000000000'

const config = `import { defineJob, expire } from 'sluice'
export default {
  jobs: [defineJob({ name: 'send-welcome', perform: async () => undefined })],
  operations: [expire({ name: 'expire-events', table: 'events', olderThan: '90 days', by: 'created_at' })],
}`

const commands = [
  ['migrate'],
  ['migrate', '--check'],
  ['doctor'],
  ['worker'],
  ['ops', 'start', 'expire-events'],
  ['ops', 'start', 'expire-events', '--wait'],
  ['ops', 'show', id],
  ['ops', 'watch', id],
  ['jobs', 'enqueue', 'send-welcome'],
  ['jobs', 'list'],
  ['jobs', 'retry', '--all', '--yes'],
  ['queues', 'pause', 'default'],
  ['workers', 'list'],
]

test.each(commands.flatMap((args) => [[args], [[...args, '--json', '--verbose']]]))(
  'sluice %j ends with 3 when no database answers, and never shows the password',
  async (args) => {
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'sluice.config.ts'), config)
    const runs = await Promise.all([
      sluiceHere(args, { folder: folder.path, env: { DATABASE_URL: url } }),
      sluiceHere([...args, '--database', url], { folder: folder.path }),
    ])
    for (const { exitCode, stdout, stderr } of runs) {
      expect(stdout + stderr).not.toContain('s3cret')
      expect(stdout + stderr).toContain('ECONNREFUSED')
      expect(exitCode).toBe(3)
    }
  },
)

test.each([
  [['--databse=postgres://u:s3cret@h/x', 'migrate']],
  [[url]],
  [['migrate', '--database', 'mysql://u:s3cret@h/x']],
  [['migrate', '--database', 'postgres://u:s3cret%zz@h/x']],
  [['migrate', '--database', 'postgres://u:s3cret@h:port/x']],
  [['ops', 'show', url, '--database', url]],
])('%j does not show it either', async (args) => {
  const { exitCode, stdout, stderr } = await sluiceHere([...args, '--verbose'])
  expect(stdout + stderr).not.toContain('s3cret')
  expect(exitCode).not.toBe(0)
})

test('a configuration file that holds it and is broken does not give it away', async () => {
  await using folder = await temporaryFolder()
  await writeFile(join(folder.path, 'sluice.config.ts'), `export default { database: '${url}', schema: }`)
  const { exitCode, stdout, stderr } = await sluiceHere(['doctor', '--verbose'], { folder: folder.path })
  expect(stdout + stderr).not.toContain('s3cret')
  expect(exitCode).toBe(2)
})

test('a server that asks for a password, and one without encryption, are told in words', async () => {
  const { host } = new URL(inject('clusterUrl'))
  const addresses = [
    `postgres@${host}/postgres`,
    `${proving}@${host}/postgres`,
    `postgres@${host}/postgres?sslmode=verify-full`,
  ]
  const answers = await Promise.all(
    addresses.map((address) => sluiceHere(['ops', 'list', '--database', `postgres://${address}`])),
  )
  expect(answers.map(({ exitCode }) => exitCode)).toEqual([3, 3, 3])
  for (const { stderr } of answers.slice(0, 2))
    expect(stderr).toContain(
      'refuses the connection: the server asks for a password, and none is set. Check user and password',
    )
  expect(answers[2]?.stderr).toContain(
    'refuses the connection: The server does not support SSL connections. Check the encryption',
  )
  const doctor = await sluiceHere(['doctor', '--database', `postgres://postgres@${host}/postgres?sslmode=disable`])
  expect(doctor.stdout).toContain('✗ reachability  the server asks for a password, and none is set')
})
