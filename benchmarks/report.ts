import { access, appendFile, mkdir, writeFile } from 'node:fs/promises'
import { cpus, loadavg, totalmem } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { version } from '../src/index.ts'
import type { Spread } from './harness.ts'

const settings = [
  'fsync',
  'synchronous_commit',
  'full_page_writes',
  'shared_buffers',
  'max_wal_size',
  'checkpoint_timeout',
  'autovacuum',
  'wal_sync_method',
]

/** Everything about the machine and the server that a figure depends on. */
export async function conditions(url: string): Promise<string[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string; value: string }>(
      `select name, current_setting(name) as value from pg_settings where name = any($1) order by name`,
      [['server_version', ...settings]],
    )
    const server = new Map(rows.map(({ name, value }) => [name, value]))
    return [
      `Sluice ${version}, Node ${process.versions.node}, PostgreSQL ${server.get('server_version')}`,
      `${cpuModel()}, ${cpus().length} cores for client and server together, ${Math.round(totalmem() / 2 ** 30)} GB memory`,
      settings.map((name) => `${name} ${server.get(name)}`).join(', '),
      `load average when it began: ${loadavg()
        .map((load) => load.toFixed(1))
        .join(', ')}`,
    ]
  } finally {
    await client.end()
  }
}

/** Adds a report to the file of today and of this kind of processor; gives its path. */
export async function save(folder: string, text: string): Promise<string> {
  const date = new Date().toISOString().slice(0, 10)
  const slug = cpuModel()
    .toLowerCase()
    .replaceAll(/\(r\)|\(tm\)/g, '')
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
  const file = join(folder, `${date}-${slug}.md`)
  await mkdir(folder, { recursive: true })
  const known = await access(file).then(
    () => true,
    () => false,
  )
  if (!known) await writeFile(file, `# Measured on ${date}\n`)
  await appendFile(file, `\n${text}`)
  return file
}

function cpuModel(): string {
  return cpus()[0]?.model.trim() ?? 'unknown processor'
}

/** A median with what lay around it. */
export function shown({ median, min, max }: Spread, digits: number): string {
  const [m, from, to] = [median, min, max].map((value) =>
    value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits }),
  )
  return `${m} [${from}..${to}]`
}

/** A Markdown table whose columns also line up on a terminal. */
export function aligned(rows: string[][]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const [head, ...body] = rows.map((row) => `| ${row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join(' | ')} |`)
  return [head ?? '', `|${widths.map((width) => '-'.repeat(width + 2)).join('|')}|`, ...body]
}
