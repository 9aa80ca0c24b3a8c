import type { OperationDefinition } from '../../src/index.ts'
import { Belonging } from '../../src/operations/belonging.ts'
import { Cuts } from '../../src/operations/cuts.ts'
import { takeBatch, type Taken } from '../../src/operations/take.ts'
import { Registry } from '../../src/runtime/registry.ts'
import { uuidv7 } from '../../src/std/uuid.ts'
import { postgresTarget } from '../../src/targets/postgres/target.ts'
import { openDatabase } from '../../src/store/database.ts'
import { Telemetry } from '../../src/telemetry/telemetry.ts'
import type { TestDatabase } from './database.ts'
import { EventLog } from './events.ts'
import { ungoverned } from './ungoverned.ts'
import { working } from './working.ts'

/** Somebody who takes a batch as a worker does, and does nothing with it. */
export interface Taking extends AsyncDisposable {
  cuts: Cuts
  events: EventLog
  take: () => Promise<Taken | undefined>
}

export async function taking(
  db: TestDatabase,
  definition: OperationDefinition<undefined>,
  { carveMs = 2_000 } = {},
): Promise<Taking> {
  const timeouts = { statementMs: 10_000, lockMs: 2_000, idleInTransactionMs: 10_000 }
  const database = await openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 1, timeouts })
  const target = postgresTarget(database)
  const registry = new Registry('operation', [definition])
  const cuts = new Cuts({ target, registry, carveMs })
  const telemetry = new Telemetry()
  const events = new EventLog()
  telemetry.onAny((event) => events.push(event))
  const belonging = new Belonging({ database, target, telemetry })
  const common = { database, target, registry, cuts, belonging, telemetry, governor: ungoverned }
  const taker = { ...common, workerId: uuidv7(), leaseMs: 60_000, carveMs }
  const close = (): PromiseLike<void> => database[Symbol.asyncDispose]()
  return { cuts, events, take: () => takeBatch(taker), [Symbol.asyncDispose]: close }
}

/** The first batch of an operation that is started for it. */
export async function takeFirst(
  db: TestDatabase,
  definition: OperationDefinition<undefined>,
): Promise<Taking & { taken: Taken }> {
  const { sluice } = working(db, [definition])
  await sluice.operations.start(definition)
  await sluice.stop()
  const by = await taking(db, definition)
  const taken = await by.take()
  if (taken === undefined) throw new Error('there is no batch')
  return { ...by, taken }
}
