import { execFile } from 'node:child_process'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const repository = fileURLToPath(new URL('../..', import.meta.url))
const tsc = join(dirname(createRequire(import.meta.url).resolve('typescript/package.json')), 'bin', 'tsc')

/** `starter.ts` and all it imports as plain JavaScript: loading it in each process would take longer than the server. */
export async function compileStarter(): Promise<{ script: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-starter-'))
  const config = {
    extends: join(repository, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      outDir: folder,
      rootDir: repository,
      typeRoots: [join(repository, 'node_modules/@types')],
    },
    files: [join(repository, 'test/embedded/starter.ts')],
    include: [],
  }
  await chmod(folder, 0o755)
  await writeFile(join(folder, 'package.json'), JSON.stringify({ type: 'module' }))
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify(config))
  await promisify(execFile)(process.execPath, [tsc, '-p', join(folder, 'tsconfig.json')])
  return {
    script: join(folder, 'test/embedded/starter.js'),
    remove: () => rm(folder, { recursive: true, force: true }),
  }
}
