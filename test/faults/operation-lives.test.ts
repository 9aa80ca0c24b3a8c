// Random lives of an operation: whatever people, faults and bad rows do in whatever order, each row is done once or is
// in quarantine, and the figures say so. FAST_CHECK_RUNS=500 is the full form; FAST_CHECK_SEED repeats one and shrinks it.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { verbs, type OperationState, type OperationVerb } from '../../src/index.ts'
import { openDatabase, type Database } from '../../src/store/database.ts'
import { testDatabase, type TestDatabase } from '../support/database.ts'
import { Bench, type Leaving, type Variant } from '../operations/model-bench.ts'

const runs = Number(process.env['FAST_CHECK_RUNS'] ?? 10)
const seed = process.env['FAST_CHECK_SEED']

/** What is known without looking: whether something was started at all. */
interface Model {
  started: boolean
}

type Command = fc.AsyncCommand<Model, Bench>

const ran = new Map<string, number>()

/** A command whose effect is checked by the invariants alone. */
function command(name: string, run: (bench: Bench, model: Model) => Promise<void>, { anytime = false } = {}): Command {
  return {
    check: (model) => anytime || model.started,
    async run(model, bench) {
      const kind = name.replace(/\(.*\)/, '')
      ran.set(kind, (ran.get(kind) ?? 0) + 1)
      await run(bench, model)
      expect(await bench.faults(), `after: ${name}`).toEqual([])
    },
    toString: () => name,
  }
}

const already: Partial<Record<OperationVerb, readonly OperationState[]>> = {
  pause: ['paused', 'pausing'],
  resume: ['queued', 'active', 'verifying'],
  cancel: ['cancelling', 'cancelled'],
}

/** A verb of a person: the table says whether it may act, and if not, nothing changes. */
function verb(name: 'pause' | 'resume' | 'cancel' | 'retry', options = {}): Command {
  return command(name, async (bench) => {
    const before = await bench.state()
    if (bench.id === undefined || before === undefined) return
    const may = (verbs[name] as readonly string[]).includes(before)
    if (may || already[name]?.includes(before) === true) {
      const { state } = await bench.operations[name](bench.id, options)
      if (!may) expect(state, `${name} of a ${before} one`).toBe(before)
    } else {
      await expect(bench.operations[name](bench.id), `${name} of a ${before} one`).rejects.toMatchObject({
        code: 'OPERATION_STATE',
      })
      expect(await bench.state()).toBe(before)
    }
  })
}

const start = command(
  'start',
  async (bench, model) => {
    const before = await bench.state()
    const live =
      before !== undefined && !['finished', 'finished_with_quarantine', 'failed', 'cancelled'].includes(before)
    expect((await bench.start()).duplicate).toBe(live)
    model.started = true
  },
  { anytime: true },
)

const work = (hands: number, subBatches: number, leaving: Leaving): Command =>
  command(`work(${hands} hands, ${subBatches} sub-batches, ${leaving})`, (bench) =>
    bench.work({ hands, subBatches, leaving }),
  )

const set = (lanes: number, subBatchSize: number): Command =>
  command(`set(${lanes} lanes, ${subBatchSize} rows)`, async (bench) => {
    const before = await bench.state()
    if (bench.id === undefined || before === undefined) return
    const asked = bench.operations.set(bench.id, { lanes, subBatchSize })
    if ((verbs.set as readonly string[]).includes(before)) await asked
    else await expect(asked).rejects.toMatchObject({ code: 'OPERATION_STATE' })
  })

const pausing = verb('pause', { actor: 'ada' })
const resuming = verb('resume')
const mending = command('mend', (bench) => bench.mend())
const retrying = verb('retry')
const disabling = command('disable', (bench) => bench.operations.disable(bench.definition.name))
const enabling = command('enable', (bench) => bench.operations.enable(bench.definition.name))
const expiring = command('expire', (bench) => bench.expire())
const waking = command('wake', (bench) => bench.wake())

const few = fc.integer({ min: 1, max: 6 })
const spoiling = fc
  .tuple(fc.integer({ min: 1, max: 60 }), fc.constantFrom(1, 1, 1, 1, 1, 1, 2, 5))
  .map(([first, rows]) => command(`spoil(${rows} from ${first})`, (bench) => bench.spoil(first, rows)))

/** One of these each time, all as likely; work and what disturbs it come more often than what ends or stops it. */
const commands = fc.commands(
  [
    fc.tuple(fc.constantFrom(1, 2), few).map(([hands, n]) => work(hands, n, 'stops')),
    fc.tuple(fc.constantFrom(1, 2), few).map(([hands, n]) => work(hands, n, 'stops')),
    few.map((n) => work(1, n, 'dies between')),
    few.map((n) => work(2, n, 'dies inside')),
    fc.constant(expiring),
    fc.constant(waking),
    spoiling,
    fc.constantFrom(retrying, retrying, retrying, mending),
    fc.constantFrom(pausing, resuming, resuming),
    fc.constantFrom(disabling, enabling, enabling, enabling),
    fc.constantFrom(start, start, start, verb('cancel')),
    fc.tuple(fc.constantFrom(1, 2, 3), fc.constantFrom(1, 3, 7, 20)).map(([lanes, rows]) => set(lanes, rows)),
    fc.constantFrom(1, 5, 15).map((rows) => command(`grow(${rows})`, (bench) => bench.grow(rows))),
  ],
  { maxCommands: 30, size: 'medium' },
)

const variants: fc.Arbitrary<Variant> = fc.record({
  rows: fc.constantFrom(30, 45, 60),
  lanes: fc.constantFrom(1, 2, 3),
  verify: fc.boolean(),
  until: fc.constantFrom('end', 'empty'),
  bad: fc.constantFrom(0, 0, 4, 18),
})

let db: TestDatabase
let database: Database

beforeAll(async () => {
  db = await testDatabase()
  const timeouts = { statementMs: 5_000, lockMs: 2_000, idleInTransactionMs: 10_000 }
  database = await openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 4, timeouts })
})

afterAll(async () => {
  await database.close()
  await db[Symbol.asyncDispose]()
})

test(
  `in ${runs} random lives each row is done once or is in quarantine`,
  { timeout: 600_000 + runs * 4_000 },
  async () => {
    let nth = 0
    const life = fc.asyncProperty(variants, commands, async (variant, steps) => {
      const bench = new Bench(++nth, variant, { db, database })
      await bench.open()
      try {
        await bench.start()
        await fc.asyncModelRun(() => ({ model: { started: true }, real: bench }), steps)
        await bench.finish()
        expect(await bench.faults(), 'at the end').toEqual([])
      } finally {
        await bench.close()
      }
    })
    await fc.assert(life, { numRuns: runs, endOnFailure: seed === undefined, ...(seed && { seed: Number(seed) }) })
    const figures = [...ran].map(([name, times]) => `${name} ${times}`).toSorted()
    process.stdout.write(`${nth} lives: ${figures.join(', ')}\n`)
  },
)
