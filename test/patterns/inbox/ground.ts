import { z } from 'zod'
import { defineInbox, Sluice, type InboxDefinition, type SluiceConfig } from '../../../src/index.ts'
import { testDatabase, type TestDatabase } from '../../support/database.ts'
import { EventLog } from '../../support/events.ts'
import { jobProfile, withLedger } from '../../support/jobs.ts'

const renewal = z.object({ id: z.string(), cents: z.number().int() })
export type Renewal = z.input<typeof renewal>

/** An inbox that writes down what it processes. */
export function renewals(
  rest: Partial<Parameters<typeof defineInbox<typeof renewal>>[0]> = {},
): InboxDefinition<Renewal> {
  return defineInbox({
    name: 'renewals',
    payload: renewal,
    key: ({ id }) => id,
    retry: { attempts: 3, wait: 20 },
    async perform({ payload, tx }) {
      await tx.query('insert into ledger (note) values ($1)', [`${payload.id} ${payload.cents}`])
    },
    ...rest,
  })
}

/** A process with inboxes, and all that it says. */
export interface Place extends AsyncDisposable {
  sluice: Sluice
  inboxes: Sluice['inboxes']
  events: EventLog
}

export function place(db: TestDatabase, inboxes: readonly InboxDefinition[], config: SluiceConfig = {}): Place {
  const sluice = new Sluice({ ...jobProfile(), database: db.workerUrl, inboxes, ...config })
  const events = new EventLog()
  sluice.onAny((event) => events.push(event))
  return { sluice, inboxes: sluice.inboxes, events, [Symbol.asyncDispose]: () => sluice.stop() }
}

export async function working(...parameters: Parameters<typeof place>): Promise<Place> {
  const at = place(...parameters)
  await at.sluice.start()
  return at
}

export const ledgerDatabase = async (): Promise<TestDatabase> => withLedger(await testDatabase())

export const notes = async (db: TestDatabase): Promise<string[]> =>
  (await db.query<{ note: string }>('select note from ledger order by id')).map((row) => row.note)

/** Something that happens once, and can be waited for. */
export function signal(): { given: Promise<void>; give: () => void } {
  const event = new AbortController()
  const given = new Promise<void>((resolve) => {
    event.signal.addEventListener('abort', () => resolve())
  })
  return { given, give: () => event.abort() }
}
