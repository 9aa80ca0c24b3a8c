import { createHash } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { SluiceError } from '../errors.ts'
import { version } from '../version.ts'
import { inSchema } from './statement.ts'

/** One numbered step of the schema: tables, indexes, types. Never changed once it was released. */
export interface Migration {
  version: number
  name: string
  /** Workers of the release before may keep running on the result. */
  compatible: boolean
  sql: string
}

/** Functions and triggers, replaced as a whole when the text of their file changes. */
interface FunctionFile {
  name: string
  /** Of the text before the name of the schema is put in: the same for every schema. */
  hash: string
  sql: string
}

/** What one release makes of a schema. */
export interface Release {
  /** Of the package. */
  version: string
  migrations: readonly Migration[]
  functions: readonly FunctionFile[]
}

const folder = new URL('./schema/', import.meta.url)

/** What this release brings. */
export async function readRelease(): Promise<Release> {
  const migrations = (await readSql('tables/')).map(({ file, sql }) => parseMigration(file, sql))
  for (const [i, { version: found, name }] of migrations.entries()) {
    if (found !== i + 1) throw invalid(name, `expected number ${i + 1}, found ${found}`)
  }
  const functions = (await readSql('functions/')).map(({ file, sql }) => functionFile(file, sql))
  return { version, migrations, functions }
}

async function readSql(kind: 'tables/' | 'functions/'): Promise<{ file: string; sql: string }[]> {
  const from = new URL(kind, folder)
  const files = (await readdir(from)).filter((file) => file.endsWith('.sql')).toSorted()
  return Promise.all(files.map(async (file) => ({ file, sql: await readFile(new URL(file, from), 'utf8') })))
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

/** A function file of the folder `functions`, by the name that it is reported under. */
export function functionFile(file: string, sql: string): FunctionFile {
  const [, name] = /^([a-z0-9_]+)\.sql$/.exec(file) ?? []
  if (name === undefined) throw invalid(file, 'the file name must look like enqueue.sql')
  return { name: `functions/${name}`, hash: createHash('sha256').update(sql).digest('hex'), sql }
}

/** What of a release is to be applied. */
export type Pending = Pick<Release, 'migrations' | 'functions'>

/**
 * The statements, one after the other, that apply what is pending in one transaction. Functions come after all tables,
 * and their bodies are not looked at yet: they may call each other, whatever the order of their files.
 */
export function statementsOf(release: Release, { migrations, functions }: Pending, schema: string): string[] {
  return [
    'set local check_function_bodies = off',
    ...migrations.flatMap((step) => [step.sql, recordSql(step)]),
    ...functions.map(({ sql }) => sql),
    recordFunctionsSql(release),
  ].map((sql) => inSchema(sql, schema))
}

/** The same as one script for psql or another migration tool. It refuses what this release must not change. */
export function migrationScript(release: Release, pending: Pending, schema: string): string {
  const statements = statementsOf(release, pending, schema).map((sql) => `${sql.trim().replace(/;$/, '')};\n`)
  return ['begin;\n', inSchema(guard(release), schema), ...statements, 'commit;\n'].join('\n')
}

/** What {@link migrate} looks at before it changes anything, for a script that knows nothing of the database. */
function guard({ version: release, migrations }: Release): string {
  const numbers = release.replace(/[^0-9.].*$/, '').replaceAll('.', ',')
  return `do $$
begin
  if to_regclass('sluice.function_file') is not null then
    if (select max(version) from sluice.migration) > ${migrations.length}
       or exists (select from sluice.function_file f
                  where string_to_array(substring(f.release from '^[0-9.]+'), '.')::integer[] > '{${numbers}}') then
      raise exception 'A newer release of Sluice was here: a schema never goes back. Take the script of that release.';
    end if;
  elsif to_regclass('sluice.migration') is not null then
    raise exception 'This schema comes from before the first release of Sluice and cannot be upgraded.';
  end if;
end
$$;
`
}

/** The insert that records a migration as applied. */
function recordSql({ version: number, name, compatible }: Migration): string {
  return `insert into sluice.migration (version, name, compatible) values (${number}, '${name}', ${compatible})`
}

/** Records all function files of a release, also those whose text is as before: from now on they are of this release. */
function recordFunctionsSql({ version: release, functions }: Release): string {
  const rows = functions.map(({ name, hash }) => `('${name}', '${hash}', '${release}')`)
  return `delete from sluice.function_file;
insert into sluice.function_file (name, hash, release)
values ${rows.join(',\n  ')}`
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
