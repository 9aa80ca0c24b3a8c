import { readdir, readFile } from 'node:fs/promises'
import { SluiceError } from '../errors.ts'
import { inSchema } from './statement.ts'

/** One numbered step of the schema. */
export interface Migration {
  version: number
  name: string
  /** Workers of the release before may keep running on the result. */
  compatible: boolean
  sql: string
}

const folder = new URL('./migrations/', import.meta.url)

/** All migrations of this release, in order. */
export async function readMigrations(): Promise<Migration[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.sql')).toSorted()
  const migrations = await Promise.all(
    files.map(async (file) => parseMigration(file, await readFile(new URL(file, folder), 'utf8'))),
  )
  for (const [i, { version, name }] of migrations.entries()) {
    if (version !== i + 1) throw invalid(name, `expected number ${i + 1}, found ${version}`)
  }
  return migrations
}

/** Reads a migration's number and name from its file name and the directives (`-- sluice: …`) from its head. */
export function parseMigration(file: string, sql: string): Migration {
  const [, digits, name] = /^(\d{4})_([a-z0-9_]+)\.sql$/.exec(file) ?? []
  if (digits === undefined || name === undefined) throw invalid(file, 'the file name must look like 0001_create_x.sql')
  const directives = headOf(sql).flatMap((line) => /^-- sluice: *(.*?) *$/.exec(line)?.[1] ?? [])
  const unknown = directives.find((directive) => directive !== 'compatible')
  if (unknown !== undefined) throw invalid(file, `unknown directive "${unknown}"; known: compatible`)
  return { version: Number(digits), name, compatible: directives.includes('compatible'), sql }
}

/** The migrations as one script for psql or another migration tool. */
export function migrationScript(migrations: readonly Migration[], schema: string): string {
  const steps = migrations.map(
    (m) =>
      `-- ${String(m.version).padStart(4, '0')} ${m.name}\n\n${inSchema(m.sql, schema).trim()}\n\n${recordSql(m, schema)};\n`,
  )
  return `begin;\n\n${steps.join('\n')}\ncommit;\n`
}

/** The insert that records a migration as applied. */
export function recordSql({ version, name, compatible }: Migration, schema: string): string {
  return `insert into ${schema}.migration (version, name, compatible) values (${version}, '${name}', ${compatible})`
}

function headOf(sql: string): string[] {
  const lines = sql.split('\n')
  const end = lines.findIndex((line) => line.trim() !== '' && !line.startsWith('--'))
  return lines.slice(0, end === -1 ? undefined : end)
}

function invalid(file: string, reason: string): SluiceError {
  return new SluiceError('MIGRATION_INVALID', {
    message: `The migration "${file}" cannot be used: ${reason}. Reinstall the package, or fix the file if you are writing it.`,
    details: { file, reason },
  })
}
