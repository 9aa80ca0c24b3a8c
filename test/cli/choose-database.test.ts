import { expect, test } from 'vitest'
import { chooseDatabase, type DatabaseSources } from '../../src/cli/choose-database.ts'

const sources = (given: Partial<DatabaseSources>): DatabaseSources => ({
  flag: undefined,
  env: {},
  config: {},
  folder: '/project',
  ...given,
})

const all = {
  flag: 'postgres://flag/x',
  env: { SLUICE_DATABASE_URL: 'postgres://sluice/x', DATABASE_URL: 'postgres://env/x', PGHOST: 'pg' },
  config: { database: 'postgres://file/x' },
}

test.each([
  ['the flag wins over all', all, { from: 'flag', url: 'postgres://flag/x' }],
  ['then SLUICE_DATABASE_URL', { ...all, flag: undefined }, { from: 'environment', url: 'postgres://sluice/x' }],
  [
    'then DATABASE_URL',
    { ...all, flag: undefined, env: { DATABASE_URL: 'postgres://env/x', PGHOST: 'pg' } },
    { from: 'environment', name: 'DATABASE_URL', url: 'postgres://env/x' },
  ],
  [
    'then the PG* variables, which pg reads by itself',
    { ...all, flag: undefined, env: { PGHOST: 'pg' } },
    { from: 'environment', url: undefined },
  ],
  ['then the configuration file', { config: all.config }, { from: 'config file', url: 'postgres://file/x' }],
  ['an empty variable is none', { config: all.config, env: { DATABASE_URL: '' } }, { from: 'config file' }],
  ['then the embedded server', {}, { from: 'embedded', dataDir: '/project/.sluice/postgres', port: undefined }],
  [
    'in the folder that the configuration names',
    { config: { embedded: { dataDir: 'data', port: 5433 } } },
    { from: 'embedded', dataDir: '/project/data', port: 5433 },
  ],
  [
    'production with a database is fine',
    { env: { NODE_ENV: 'production', PGDATABASE: 'x' } },
    { from: 'environment', name: 'PGDATABASE', url: undefined },
  ],
])('%s', (_, given, expected) => {
  expect(chooseDatabase(sources(given))).toMatchObject(expected)
})

test('the embedded server is never chosen in production', () => {
  expect(() => chooseDatabase(sources({ env: { NODE_ENV: 'production' } }))).toThrow(
    expect.objectContaining({ code: 'EMBEDDED_FORBIDDEN', message: expect.stringContaining('Set DATABASE_URL') }),
  )
})
