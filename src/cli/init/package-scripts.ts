import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { SluiceError } from '../../index.ts'
import type { Step } from './step.ts'

const scripts: Readonly<Record<string, string>> = {
  'sluice:worker': 'sluice worker',
  'sluice:migrate': 'sluice migrate',
}

type Manifest = Record<string, unknown> & { scripts?: Record<string, unknown> }

/** Adds npm scripts to package.json, where there is one. */
export async function addScripts(folder: string): Promise<Step[]> {
  const file = join(folder, 'package.json')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) return []
  const changed = withScripts(text)
  if (changed === text) return [{ file, done: 'kept', what: 'has the scripts already' }]
  await writeFile(file, changed)
  return [{ file, done: 'changed', what: `scripts ${Object.keys(scripts).join(' and ')} added` }]
}

/** The text of a package.json with our scripts in it, otherwise as its author laid it out. */
export function withScripts(text: string): string {
  const manifest = parse(text)
  const missing = Object.entries(scripts).filter(([name]) => !Object.hasOwn(manifest.scripts ?? {}, name))
  if (missing.length === 0) return text
  const wanted: Manifest = { ...manifest, scripts: { ...manifest.scripts, ...Object.fromEntries(missing) } }
  const inserted = insertAtEnd(text, missing)
  if (inserted !== undefined && isDeepStrictEqual(parse(inserted), wanted)) return inserted
  const indent = /^([ \t]+)"/m.exec(text)?.[1] ?? '  '
  return JSON.stringify(wanted, null, indent) + (text.endsWith('\n') ? '\n' : '')
}

/** Lines after the last script; undefined where the file is laid out in another way than one script per line. */
function insertAtEnd(text: string, missing: readonly (readonly [string, string])[]): string | undefined {
  const block = /(^[ \t]*"scripts"\s*:\s*\{[^}]*?"[^\n}]*?")(\r?\n)[ \t]*\}/m.exec(text)
  const [, head, newline] = block ?? []
  if (block === null || head === undefined || newline === undefined) return undefined
  const indent = /\n([ \t]*)[^\n]*$/.exec(head)?.[1] ?? ''
  const lines = missing.map(
    ([name, command]) => `,${newline}${indent}${JSON.stringify(name)}: ${JSON.stringify(command)}`,
  )
  const at = block.index + head.length
  return text.slice(0, at) + lines.join('') + text.slice(at)
}

function parse(text: string): Manifest {
  try {
    const manifest: Manifest = JSON.parse(text)
    return manifest
  } catch (error) {
    throw new SluiceError('CONFIG_INVALID', {
      message: 'package.json is not valid JSON. Correct it and run "sluice init" again; what was done so far is kept.',
      cause: error,
    })
  }
}
