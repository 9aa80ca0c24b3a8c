import type { Command } from 'commander'
import { readFile, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { SluiceError } from '../../index.ts'
import { plural } from '../figures.ts'
import { fileProblem } from '../file-problem.ts'
import { withSluice } from '../session.ts'
import type { CommandAdder, Shell } from '../shell.ts'
import { addActor, whoOf, type WhoOptions } from '../who.ts'

interface ExportOptions extends WhoOptions {
  out: string
}

export const addTenants: CommandAdder = (parent, shell) => {
  const tenants = parent
    .command('tenants')
    .description("move a tenant's unfinished operations to another database")
    .helpCommand(false)
  const leave = tenants
    .command('export <tenant>')
    .description("end a tenant's operations here, at their checkpoints, and write them to a file")
    .requiredOption('--out <file>', 'file to write; it must not exist yet')
  addActor(leave).action((tenant: string, _: unknown, command: Command) =>
    exportTenant(shell, tenant, command.optsWithGlobals<ExportOptions>()),
  )
  const arrive = tenants
    .command('import <file>')
    .description('take in what an export wrote; the operations go on at the same keys')
  addActor(arrive).action((file: string, _: unknown, command: Command) =>
    importTenant(shell, file, command.optsWithGlobals<WhoOptions>()),
  )
}

async function exportTenant(shell: Shell, tenant: string, { out, ...options }: ExportOptions): Promise<void> {
  const file = resolve(shell.folder, out)
  // Before anything is ended: a place to write to, and nobody else's file.
  await writeFile(file, '', { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw unusable(file, error)
  })
  await withSluice(shell, { options }, async ({ sluice }) => {
    const moved = await sluice.tenants.export(tenant, whoOf(options))
    await writeFile(file, `${JSON.stringify(moved, undefined, 2)}\n`)
    const { length } = moved.operations
    if (shell.output.json) return shell.output.record({ tenant, file, operations: length })
    shell.output.note(`${plural(length, 'operation')} of "${tenant}" ended here and written to ${out}.`)
  })
}

async function importTenant(shell: Shell, path: string, options: WhoOptions): Promise<void> {
  const moved = await readMoved(resolve(shell.folder, path))
  await withSluice(shell, { options }, async ({ sluice }) => {
    const { imported, present } = await sluice.tenants.import(moved, whoOf(options))
    if (shell.output.json) return shell.output.record({ imported, present })
    for (const id of imported) shell.output.data(id)
    const kept = present.length === 0 ? '' : `; ${plural(present.length, 'operation')} already here`
    shell.output.note(`${plural(imported.length, 'operation')} taken in${kept}.`)
  })
}

async function readMoved(file: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(file, 'utf8'))
  } catch (error) {
    throw unusable(file, error)
  }
}

function unusable(file: string, cause: unknown): SluiceError {
  return new SluiceError('ARGS_INVALID', {
    message: `The file ${file} cannot be used: ${fileProblem(cause)}.`,
    details: { file },
    cause,
  })
}
