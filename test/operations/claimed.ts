import type { OperationDefinition } from '../../src/index.ts'
import { BatchPosition } from '../../src/operations/batch-position.ts'
import type { BatchRun, Begun } from '../../src/operations/batch-run.ts'
import { settledScope } from '../../src/targets/postgres/age-limit.ts'
import { Cuts } from '../../src/operations/cuts.ts'
import { Sizes } from '../../src/operations/sizes.ts'
import { BatchSizes } from '../../src/operations/batch-sizes.ts'
import { Failures } from '../../src/operations/verdict.ts'
import { postgresTarget } from '../../src/targets/postgres/target.ts'
import type { Work } from '../../src/targets/work.ts'
import { walkOf } from '../../src/operations/walk.ts'
import { Registry } from '../../src/runtime/registry.ts'
import { openDatabase } from '../../src/store/database.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import type { TestDatabase } from '../support/database.ts'
import { EventLog } from '../support/events.ts'
import { takeFirst } from '../support/taking.ts'
import { ungoverned } from '../support/ungoverned.ts'

/** A claimed batch in the hands of a test, which runs each of its steps by itself. */
export interface Claimed extends AsyncDisposable {
  run: BatchRun
  work: Work
  events: EventLog
}

/** Starts an operation and claims its first batch. The lease is long: nobody is taken for dead. */
export async function claimFirst(
  db: TestDatabase,
  definition: OperationDefinition<undefined>,
  url: string = db.workerUrl,
): Promise<Claimed> {
  await using first = await takeFirst(db, definition)
  const { operation, batch } = first.taken
  const timeouts = { statementMs: 60_000, lockMs: 60_000, idleInTransactionMs: 60_000 }
  const database = await openDatabase({ url, schema: 'sluice', workSize: 2, timeouts })
  const telemetry = new Telemetry()
  const events = new EventLog()
  telemetry.onAny((event) => events.push(event))
  const never = new AbortController().signal
  const claim = { batchId: batch.id, nonce: batch.nonce }
  const [leaseMs, walk] = [60_000, walkOf(operation)]
  const run: BatchRun = {
    operation,
    batch,
    definition,
    walk,
    held: { ...claim, signal: never, progress: () => undefined, moving: () => false, drop: () => undefined },
    leaseMs,
    stopping: never,
    ending: never,
    database,
    target: postgresTarget(database),
    telemetry,
    governor: ungoverned,
    outcomes: { ok: () => undefined, isolated: () => undefined },
    sizes: new Sizes(),
    cuts: new Cuts({
      target: postgresTarget(database),
      registry: new Registry('operation', [definition]),
      carveMs: 2_000,
    }),
    trusted: async () => undefined,
  }
  const bound = await definition.bind(operation.args)
  const startedAt = operation.created_text
  const work: Work = {
    claim,
    operationId: operation.id,
    pass: batch.pass,
    walk,
    scope: await settledScope(database.control, { ...definition, bound, startedAt }),
    bound,
    isOpen: () => true,
    startedAt,
    leaseMs,
    signal: never,
    inOne: false,
    mayKeepRows: false,
    leavesNone: false,
    strides: { of: 1, rowsPerPage: 0 },
    since: undefined,
  }
  return { run, work, events, [Symbol.asyncDispose]: () => database.close() }
}

/** The batch as it is when it begins. */
export function begunOf({ run: { batch, operation }, work }: Pick<Claimed, 'run' | 'work'>): Begun {
  const most = operation.sub_batch_size
  const sizes = { given: batch.sub_batch_size, most, found: undefined, lastLook: undefined }
  return {
    work,
    position: new BatchPosition({ lower: batch.checkpoint, upper: batch.upper_key }, []),
    sizes: new BatchSizes({ ...sizes, crashes: batch.crashes, verifies: false, isEmpty: false }),
    failures: new Failures(),
    resting: new AbortController().signal,
  }
}
