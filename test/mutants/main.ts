// npm run test:mutants [-- <name> …]: plants each bug in a copy of the project and runs the test that should notice. A bug
// that no test notices is a missing test; the command fails then.
import { spawn } from 'node:child_process'
import { mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { fastestFolder, startCluster } from '../support/cluster.ts'
import { measurePatience, patiently } from '../support/patience.ts'
import { mutantNamed, mutants } from './catalogue.ts'
import type { Mutant } from './mutant.ts'
import { plant } from './plant.ts'

/** How many run at once, on a server for each; some only wait for what never comes. */
const atOnce = 4

/** How often a bug may go unnoticed before it counts as survived. */
const runs = 3

interface Verdict {
  mutant: Mutant
  /** What came of it: only `caught` is good. */
  outcome: 'caught' | 'SURVIVED' | 'CANNOT TELL'
  seconds: number
  /** What the test said, or why nothing can be told. */
  says: string
}

const names = process.argv.slice(2)
const chosen = names.length === 0 ? mutants : names.map(mutantNamed)
// Once for all: each run would keep every core busy for it.
await measurePatience()
const scratch = await mkdtemp(join(await fastestFolder(), 'sluice-mutants-'))
try {
  process.env['SLUICE_TEST_SEED'] = await makeSeed()
  const verdicts: Verdict[] = []
  const rest = [...chosen]
  const work = async (_: unknown, lane: number): Promise<void> => {
    const folder = join(scratch, `lane-${lane}`)
    await mkdir(folder)
    await using server = await startCluster(folder)
    for (let mutant = rest.shift(); mutant !== undefined; mutant = rest.shift()) {
      const verdict = await judge(mutant, server.url)
      verdicts.push(verdict)
      process.stdout.write(line(verdict))
    }
  }
  await Promise.all(Array.from({ length: Math.min(atOnce, chosen.length) }, work))
  const caught = verdicts.filter(({ outcome }) => outcome === 'caught').length
  process.stdout.write(`\n${caught} of ${verdicts.length} mutants caught, ${verdicts.length - caught} survived\n`)
  process.exitCode = caught === verdicts.length ? 0 : 1
} finally {
  await rm(scratch, { recursive: true, force: true })
}

/** A stopped server with the template in it: whoever needs a server copies it instead of making one. */
async function makeSeed(): Promise<string> {
  await (await startCluster(scratch)).stop()
  return join(scratch, 'postgres')
}

/** A bug that opens a race shows most of the time, not always: what goes unnoticed is tried again, and that is told. */
async function judge(mutant: Mutant, server: string): Promise<Verdict> {
  for (let run = 1; ; run++) {
    const verdict = await judgeOnce(mutant, server)
    if (verdict.outcome !== 'SURVIVED' || run === runs)
      return run === 1 ? verdict : { ...verdict, says: `in run ${run}: ${verdict.says}` }
  }
}

async function judgeOnce(mutant: Mutant, server: string): Promise<Verdict> {
  const began = Date.now()
  const end = (outcome: Verdict['outcome'], says: string): Verdict => ({
    mutant,
    outcome,
    seconds: Math.round((Date.now() - began) / 100) / 10,
    says,
  })
  try {
    await using planted = await plant(mutant)
    const { output, report } = await runTest(planted.folder, mutant.caughtBy, {
      server,
      template: needsTemplate(mutant),
    })
    if (report === undefined) return end('CANNOT TELL', output)
    const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
    const named = tests.find(({ title }) => title === mutant.caughtBy.test)
    if (named === undefined) return end('CANNOT TELL', `${mutant.caughtBy.file} has no such test; ${output}`)
    const says = firstLine(named.failureMessages[0])
    if (named.status === 'failed') return end(isBroken(says) ? 'CANNOT TELL' : 'caught', says)
    return end(named.status === 'passed' ? 'SURVIVED' : 'CANNOT TELL', `the test ${named.status}`)
  } catch (error) {
    return end('CANNOT TELL', String(error))
  }
}

/** A bug in the schema, or in who may do what with it, needs a template of its own. */
function needsTemplate({ edits }: Mutant): boolean {
  return edits.some(
    ({ file }) => file.endsWith('.sql') || ['src/store/grants.ts', 'src/store/rights.ts'].includes(file),
  )
}

interface Report {
  testResults: { assertionResults: { title: string; status: string; failureMessages: string[] }[] }[]
}

async function runTest(
  folder: string,
  { file, test }: Mutant['caughtBy'],
  { server, template }: { server: string; template: boolean },
): Promise<{ output: string; report: Report | undefined }> {
  const vitest = fileURLToPath(new URL('../../node_modules/vitest/vitest.mjs', import.meta.url))
  const answer = join(folder, 'verdict.json')
  const pattern = `${test.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}$`
  // A test that waits in vain has noticed: without the bug all of them take seconds.
  const args = [
    'run',
    file,
    '-t',
    pattern,
    `--testTimeout=${patiently(25_000)}`,
    '--reporter=json',
    `--outputFile=${answer}`,
  ]
  const child = spawn(process.execPath, [vitest, ...args], {
    cwd: folder,
    env: {
      ...process.env,
      SLUICE_TEST_BUILT: '1',
      SLUICE_TEST_SERVER: server,
      ...(template ? { SLUICE_TEST_TEMPLATE: 'sluice_mutant' } : {}),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data: Buffer) => (output += data.toString()))
  await new Promise((resolve) => child.once('close', resolve))
  const text = await readFile(answer, 'utf8').catch(() => undefined)
  return { output, report: text === undefined ? undefined : (JSON.parse(text) as Report) }
}

/** Code that does not even run is no bug that a test has to notice. */
function isBroken(says: string): boolean {
  return /syntax error|does not exist|is not defined|SyntaxError|Cannot find/i.test(says)
}

function firstLine(message = ''): string {
  return message.split('\n')[0]?.slice(0, 110) ?? ''
}

function line({ mutant, outcome, seconds, says }: Verdict): string {
  const { file, test } = mutant.caughtBy
  return `${outcome.padEnd(11)} ${mutant.name} (${seconds.toFixed(1)} s)\n    ${file}: ${test}\n    ${says}\n`
}
