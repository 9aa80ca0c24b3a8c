import type { Mutant } from '../mutant.ts'

const oneEffect = 'test/patterns/inbox/one-effect.test.ts'
const receive = 'test/patterns/inbox/receive.test.ts'
const nested = 'test/patterns/inbox/nested-once.test.ts'
const chores = 'src/store/inbox-chores.ts'

/** Guards of inboxes and of `once`. */
export const inbox: readonly Mutant[] = [
  {
    name: 'inbox-without-unique-index',
    breaks: 'of any number of deliveries one is new: nothing keeps two processes from taking in the same key',
    edits: [
      {
        file: 'src/store/schema/tables/0005_patterns.sql',
        from: 'expires_at   timestamptz not null,\n  primary key (inbox_id, key_hash)\n',
        to: 'expires_at   timestamptz not null\n',
      },
    ],
    caughtBy: { file: oneEffect, test: 'of two deliveries of a key in open transactions one is new' },
  },
  {
    name: 'inbox-received-outside',
    breaks: 'a receipt joins the transaction of its caller: message and job stay when that is rolled back',
    edits: [
      {
        file: 'src/patterns/inbox/inboxes.ts',
        from: 'store.receive(connection, { messages: [message], notify })',
        to: 'store.receive((await this.#deps.database()).control, { messages: [message], notify })',
      },
    ],
    caughtBy: { file: receive, test: 'in a transaction of the caller it is there when that commits' },
  },
  {
    name: 'inbox-marked-outside',
    breaks: 'a message is marked in the transaction of its effect: the mark is committed by itself, before it',
    edits: [
      {
        file: 'src/patterns/inbox/processing.ts',
        from: 'const connection: StoreConnection = onConnection(tx, (await deps.control()).schema)',
        to: 'const connection: StoreConnection = await deps.control()',
      },
    ],
    caughtBy: { file: receive, test: 'the mark and the effect commit in one transaction' },
  },
  {
    name: 'inbox-taken-twice',
    breaks: 'a message has its effect once: a second job for it runs the handler again',
    edits: [{ file: 'src/store/inbox.ts', from: 'message_id = $1 and state <> 1', to: 'message_id = $1' }],
    caughtBy: {
      file: oneEffect,
      test: 'a message is taken once, and a second job that is about to take it waits for the first',
    },
  },
  {
    name: 'inbox-taken-by-key-alone',
    breaks: 'a message has its effect once: the job of an old message marks a new one with the same key',
    edits: [
      {
        file: 'src/store/inbox.ts',
        from: 'key_hash = $3 and message_id = $1 and state <> 1',
        to: 'key_hash = $3 and $1::bigint is not null and state <> 1',
      },
    ],
    caughtBy: { file: oneEffect, test: 'a message is taken only under the id that its job was given' },
  },
  {
    name: 'inbox-alive-taken-for-lost',
    breaks: 'only messages whose job is lost get a new one: those whose job waits get one as well',
    edits: [
      {
        file: chores,
        from: 'exists (select from sluice.job j where j.id = m.job_id) as alive',
        to: 'false as alive',
      },
    ],
    caughtBy: { file: oneEffect, test: 'a message whose job is there is not lost, and one whose job is nowhere is' },
  },
  {
    name: 'inbox-healed-again',
    breaks: 'a lost message gets one new job: a worker with an old look gives it another',
    edits: [
      {
        file: chores,
        from: 'm.received_at = g.at::timestamptz and m.job_id = g.job_id\n',
        to: 'm.received_at = g.at::timestamptz\n',
      },
    ],
    caughtBy: { file: oneEffect, test: 'a message that was lost and has got another job since gets no new job' },
  },
  {
    name: 'inbox-healed-when-processed',
    breaks: 'a lost message gets one new job: one that has been processed meanwhile gets a job all the same',
    edits: [
      {
        file: chores,
        from: 'k.message_id = g.id and k.state = 0\n   join',
        to: 'k.message_id = g.id\n   join',
      },
    ],
    caughtBy: { file: oneEffect, test: 'a message that was lost and has been processed since gets no new job' },
  },
  {
    name: 'inbox-healed-when-retried',
    breaks: 'a lost message gets one new job: one whose job was retried after the look gets another',
    edits: [{ file: chores, from: '   where not exists (select from sluice.job j where j.id = g.job_id)\n', to: '' }],
    caughtBy: { file: oneEffect, test: 'a message that was lost and whose job was retried since gets no new job' },
  },
  {
    name: 'inbox-looks-at-all-dead',
    breaks: 'to look after messages locks no days of dead jobs: all of them are read with each page',
    edits: [
      {
        file: chores,
        from: 'exists (select from sluice.job j where j.id = m.job_id) as alive',
        to: 'exists (select from sluice.job j where j.id = m.job_id) and not exists (select from sluice.job_dead d where d.id = m.job_id) as alive',
      },
    ],
    caughtBy: {
      file: 'test/jobs/growing-costs.test.ts',
      test: 'whoever looks after messages locks none of the days of dead jobs while their jobs are alive',
    },
  },
  {
    name: 'inbox-healed-by-two',
    breaks: 'a lost message gets one new job: two workers give it one at the same moment',
    edits: [{ file: chores, from: '   order by m.id\n   for update of m skip locked`', to: '   order by m.id`' }],
    caughtBy: {
      file: oneEffect,
      test: 'a lost message is left to the worker that gives it a new job at this moment',
    },
  },
  {
    name: 'once-key-not-kept',
    breaks: 'work is done once per key: whoever waited for the key does the work again',
    edits: [
      {
        file: 'src/store/inbox-once.ts',
        from: '   where r.expires_at <= clock_timestamp()\n   returning r.hash',
        to: '   returning r.hash',
      },
    ],
    caughtBy: {
      file: oneEffect,
      test: 'of two calls of once in open transactions one does the work, and the other gets its result',
    },
  },
  {
    name: 'once-nested-on-the-same-connections',
    breaks: 'work inside of work has connections of its own: callers that hold all of them wait for one more',
    edits: [
      {
        file: 'src/patterns/inbox/once.ts',
        from: 'around.length === 0 ? database.work : database.nested(around.length)',
        to: 'around.length < 100 ? database.work : database.nested(around.length)',
      },
    ],
    caughtBy: {
      file: nested,
      test: 'work may be done once inside of other work, also by more callers than there are connections',
    },
  },
  {
    name: 'once-inside-itself',
    breaks: 'a key inside of itself is refused: it waits for its own end',
    edits: [
      {
        file: 'src/patterns/inbox/once.ts',
        from: 'if (around.some(({ hash }) => hash === order.hash)) throw',
        to: 'if (around.some(({ hash }) => hash === key)) throw',
      },
    ],
    caughtBy: { file: nested, test: 'a key inside of itself is refused at once, and nothing of it is done' },
  },
  {
    name: 'once-under-way-taken-for-done',
    breaks: 'all get the result of the work: one in the same transaction gets none while the work is under way',
    edits: [
      {
        file: 'src/patterns/inbox/once.ts',
        from: 'if (isUnderWay(stored)) throw',
        to: 'if (!stored && isUnderWay(stored)) throw',
      },
    ],
    caughtBy: {
      file: nested,
      test: 'a key that is still at work in the same transaction is refused, and does not answer undefined',
    },
  },
  {
    name: 'inbox-dead-still-waiting',
    breaks: 'a message whose job has died does not wait: it is listed as waiting until upkeep comes by',
    edits: [{ file: 'src/patterns/inbox/inboxes.ts', from: "new Set(['job.died', ", to: "new Set(['job.dies', " }],
    caughtBy: {
      file: 'test/patterns/inbox/upkeep.test.ts',
      test: 'a message whose job has just died is listed as failed, not as waiting',
    },
  },
  {
    name: 'inbox-id-remembered',
    breaks: 'a message goes to its own inbox: a session remembers the id that its name had before a restore',
    edits: [
      {
        file: 'src/store/schema/functions/inbox.sql',
        from: 'other inboxes.\n  inbox_ids := array(select (select b.id from sluice.inbox b where b.name = n) from unnest(p_inboxes) n);',
        to: "other inboxes.\n  inbox_ids := array(select coalesce(nullif(current_setting('sluice.inbox_' || n, true), '')::integer, (select b.id from sluice.inbox b where b.name = n)) from unnest(p_inboxes) n);",
      },
      {
        file: 'src/store/schema/functions/inbox.sql',
        from: '  -- A key may expire between two looks;',
        to: "  perform set_config('sluice.inbox_' || g.n, g.i::text, false) from unnest(p_inboxes, inbox_ids) g(n, i);\n  -- A key may expire between two looks;",
      },
    ],
    caughtBy: {
      file: 'test/patterns/inbox/restored-ids.test.ts',
      test: 'after the ids of two inboxes have changed places, each gets its own messages',
    },
  },
]
