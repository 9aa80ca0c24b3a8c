import { defineOperation } from '../../src/index.ts'
import { openDatabase } from '../../src/store/database.ts'
import { postgresTarget } from '../../src/targets/postgres/target.ts'
import { testDatabase } from '../support/database.ts'
import { startFaultProxy, type LinkInfo } from '../support/fault-proxy/index.ts'
import { takeFirst } from '../support/taking.ts'
import { describeTarget } from './target.ts'
import type { Peek, TargetUnderTest, Threat } from './target-bench.ts'

const walk = defineOperation({ name: 'walk', table: 'walked', perform: async () => 0 })

const threats: Record<Threat, string> = {
  'taken over': 'update sluice.batch set nonce = gen_random_uuid()',
  moved: `update sluice.batch set checkpoint = '{7}'`,
  paused: `update sluice.operation set status = 'pausing'`,
  cancelled: `update sluice.operation set status = 'cancelling'`,
  disabled: `insert into sluice.disabled_operation (name) values ('walk')`,
  frozen: `insert into sluice.standstill (reason) values ('failover')`,
}

const peek = `
  select (select count(*) from walked where n <> 0)::int as changed, (select coalesce(max(n), 0) from walked) as times,
    b.checkpoint, b.rows_seen::int as "rowsSeen", b.rows_matched::int as "rowsMatched",
    b.rows_changed::int as "rowsChanged", b.sub_batches::int as "subBatches",
    (select coalesce(sum(rows), 0) from sluice.quarantine)::int as quarantined
  from sluice.batch b`

const timeouts = { statementMs: 60_000, lockMs: 60_000, idleInTransactionMs: 60_000 }
const state = (code: string): Error => Object.assign(new Error(code), { code, severity: 'ERROR' })
const forWork = ({ applicationName }: LinkInfo): boolean => applicationName === 'sluice work'

const postgres: TargetUnderTest = {
  async open(rows) {
    const db = await testDatabase()
    await db.query('create table walked (id int primary key, n int not null default 0)')
    await db.query(`insert into walked select id from generate_series(1, ${rows}) id`)
    await using first = await takeFirst(db, walk)
    const { batch, operation } = first.taken
    const { hostname: host, port } = new URL(db.url)
    const proxy = await startFaultProxy({ host, port: Number(port) })
    const url = proxy.url(db.workerUrl)
    const database = await openDatabase({ url, schema: 'sluice', workSize: 2, timeouts })
    return {
      target: postgresTarget(database),
      claim: { batchId: batch.id, nonce: batch.nonce },
      operationId: operation.id,
      peek: async () => (await db.query<Peek>(peek))[0] as Peek,
      threaten: async (threat) => void (await db.query(threats[threat])),
      setHours: async (hours) => void (await db.query('update sluice.operation set run_window = $1', [hours])),
      async loseAnswer(form) {
        const which = form === 'in one statement' ? /sluice_claim/ : /^commit/i
        proxy.dropAnswerTo(which, { which: forWork, times: 1, ending: 'rst' })
      },
      async [Symbol.asyncDispose]() {
        await database.close()
        await proxy[Symbol.asyncDispose]()
        await db[Symbol.asyncDispose]()
      },
    }
  },
  async table(columns, keys) {
    const db = await testDatabase()
    const typed = columns.map((column) => `${column} int`).join(', ')
    await db.query(`create table tied (${typed}, primary key (${columns.join(', ')}))`)
    for (const key of keys) await db.query(`insert into tied values (${key.join(', ')})`)
    await db.query('grant select on tied to public')
    const database = await openDatabase({ url: db.workerUrl, schema: 'sluice', workSize: 1, timeouts })
    return {
      target: postgresTarget(database),
      table: 'tied',
      async [Symbol.asyncDispose]() {
        await database.close()
        await db[Symbol.asyncDispose]()
      },
    }
  },
  errors: {
    connection: Object.assign(new Error('gone'), { code: 'ECONNRESET' }),
    retry: state('40P01'),
    locked: state('55P03'),
    hold: state('53100'),
    rows: state('22012'),
    fatal: state('42501'),
  },
}

describeTarget('PostgreSQL', postgres, { oneStatement: true, strides: true })
