import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Step } from './step.ts'

const line = '.sluice/'
const covering = new Set(['.sluice', '.sluice/', '/.sluice', '/.sluice/', '.sluice/*', '.sluice/**'])

/** Keeps the embedded database out of version control. */
export async function addIgnoreLine(folder: string): Promise<Step> {
  const file = join(folder, '.gitignore')
  const text = await readFile(file, 'utf8').catch(() => undefined)
  if (text === undefined) {
    await writeFile(file, `${line}\n`, { flag: 'wx' })
    return { file, done: 'created', what: `ignores ${line}` }
  }
  if (text.split(/\r?\n/).some((found) => covering.has(found.trim()))) {
    return { file, done: 'kept', what: `ignores ${line} already` }
  }
  const newline = text.includes('\r\n') ? '\r\n' : '\n'
  await writeFile(file, `${text}${text === '' || text.endsWith('\n') ? '' : newline}${line}${newline}`)
  return { file, done: 'changed', what: `ignores ${line} now` }
}
