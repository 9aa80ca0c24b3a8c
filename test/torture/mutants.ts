import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { builtPackage } from '../support/worker.ts'

/** A planted bug: pieces of the built code and what stands there instead. */
interface Mutant {
  breaks: string
  edits: { file: string; from: string | RegExp; to: string }[]
}

export const mutants = {
  'fence-before-transaction': {
    breaks: 'a stale worker commits nothing: the nonce is checked before the transaction instead of inside it',
    edits: [
      {
        file: 'operations/sub-batch.js',
        from: /return work\.database\.work\.transaction\(async \(transaction\) => \{\s*const fenced = await passOpenFence\(transaction, work, next\.window\.lower\);/,
        to: `const fenced = await passOpenFence(work.database.control, work, next.window.lower);
    return work.database.work.transaction(async (transaction) => {`,
      },
      {
        file: 'store/batches.js',
        from: /(lease_until = clock_timestamp\(\) \+ \$8 \* interval '1 millisecond'\s*where id = \$1) and nonce = \$2 and state = 'running'/,
        to: `$1 and $2::uuid is not null`,
      },
    ],
  },
  'blind-retry': {
    breaks: 'after a lost answer the claim row decides: the same rows are done again instead',
    edits: [
      { file: 'operations/recover.js', from: 'progress.at = found.checkpoint;', to: '' },
      {
        file: 'operations/sub-batch.js',
        from: /if \(!sameKey\(fenced\.checkpoint, lower\)\)/,
        to: 'if (false)',
      },
    ],
  },
  'job-claim-not-locked': {
    breaks:
      'a stale worker commits nothing: a transactional job looks at its claim once, and neither locks nor asks again',
    edits: [
      { file: 'store/jobs/settle.js', from: /\s*for update of j`/, to: '`' },
      { file: 'jobs/transactional.js', from: /if \(ids\.length === 0\)\s*throw new JobLost\(\);/, to: '' },
    ],
  },
  'job-completed-without-nonce': {
    breaks: 'a stale worker ends nothing: jobs are completed by their id alone',
    edits: [
      {
        file: 'store/migrations/0006_create_jobs.sql',
        from: 'where j.id = d.id and (j.claim_id = d.claim_id or (j.state = 0 and d.claim_id = any(live)))',
        to: 'where j.id = d.id',
      },
    ],
  },
  'inbox-without-unique-index': {
    breaks: 'of any number of deliveries one is new: nothing keeps two processes from taking in the same key',
    edits: [
      {
        file: 'store/migrations/0009_create_inbox.sql',
        from: /(expires_at   timestamptz not null),\s*primary key \(inbox_id, key_hash\)/,
        to: '$1',
      },
    ],
  },
  'inbox-marked-outside': {
    breaks: 'a message is marked in the transaction of its effect: the mark is committed by itself, before it',
    edits: [
      {
        file: 'inbox/processing.js',
        from: /onConnection\(tx, \(await deps\.control\(\)\)\.schema\)/,
        to: '(await deps.control())',
      },
    ],
  },
  'job-rescued-without-guard': {
    breaks: 'only what a silent worker holds is freed: jobs are freed that it held once and others hold now',
    edits: [
      {
        file: 'store/jobs/rescue.js',
        from: 'j.id < upper(r) and (j.claim_id = g.id or j.state = 0)\n     for',
        to: 'j.id < upper(r)\n     for',
      },
      { file: 'store/jobs/rescue.js', from: /and \(j\.claim_id = f\.claim_id or j\.state = 0\)/, to: '' },
    ],
  },
  'batch-counted-later': {
    breaks: 'members of a batch of jobs are counted in the transaction that ends them: they are counted a moment later',
    edits: [
      { file: 'jobs/endings.js', from: /const membersAlone = .*;/, to: 'const membersAlone = false;' },
      {
        file: 'jobs/endings.js',
        from: /(const news = \[)/,
        to: 'if (ended.length > 0) await new Promise((resolve) => setTimeout(resolve, 100));\n    $1',
      },
    ],
  },
  'sweep-version-not-given': {
    breaks: 'an object that was made anew is not deleted: the effect is not told which version was claimed',
    edits: [
      { file: 'sweeps/effect.js', from: 'version,\n        attempt', to: 'version: undefined,\n        attempt' },
    ],
  },
  'sweep-finalised-unseen': {
    breaks: 'the finaliser looks again: a row is finalised though it is not due any more, or made anew',
    edits: [
      {
        file: 'sweeps/finalise.js',
        from: /return found !== undefined && found\.due.*;/,
        to: 'return found !== undefined;',
      },
    ],
  },
  'sweep-fence-removed': {
    breaks: 'a stale worker commits nothing: references are released for rows that it has lost',
    edits: [
      { file: 'sweeps/finalise.js', from: /const held = those\([^;]*;/, to: 'const held = rows;' },
      { file: 'sweeps/finalise.js', from: /const stands = held\.filter\([^;]*;/, to: 'const stands = held;' },
      { file: 'sweeps/finalise.js', from: /byKey\.get\(idOf\(key\)\)\?\.refersTo \?\? null/, to: 'own.get(idOf(key))' },
      {
        file: 'sweeps/finalise.js',
        from: 'const owed = new Map();',
        to: 'const own = new Map(rows.map(({ key, row }) => [idOf(key), row.content_hash]));\n    const owed = new Map();',
      },
      { file: 'sweeps/finalise.js', from: 'checkEnded(released, ended);', to: '' },
    ],
  },
} satisfies Record<string, Mutant>

export type MutantName = keyof typeof mutants

/** A copy of the built package with a bug planted in it. Fails when the code to break is not found. */
export async function plant(name: MutantName): Promise<{ package: URL } & AsyncDisposable> {
  const base = join(fileURLToPath(builtPackage), '..', 'node_modules', '.cache')
  await mkdir(base, { recursive: true })
  const folder = await mkdtemp(join(base, 'sluice-mutant-'))
  const dist = join(folder, 'dist')
  await cp(fileURLToPath(builtPackage), dist, { recursive: true })
  await cp(fileURLToPath(new URL('../package.json', builtPackage)), join(folder, 'package.json'))
  for (const { file, from, to } of mutants[name].edits) {
    const code = await readFile(join(dist, file), 'utf8')
    const changed = code.replace(from, to)
    if (changed === code) throw new Error(`the bug "${name}" has no place in ${file} any more`)
    await writeFile(join(dist, file), changed)
  }
  return {
    package: pathToFileURL(`${dist}/`),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}
