import type { Mutant } from '../mutant.ts'

const lifecycle = 'src/store/lifecycle.ts'

const inStore = (test: string): Mutant['caughtBy'] => ({ file: 'test/store/ending.test.ts', test })

const nothingLeft = 'and not exists (select from sluice.batch b where b.operation_id = o.id)'
const nothingRuns = "and not exists (select from sluice.batch b where b.operation_id = o.id and b.state = 'running')"

/** How operations begin and end: uniqueness, the second pass, and the last batch. */
export const endings: readonly Mutant[] = [
  {
    name: 'equal-operations',
    breaks: 'one unfinished operation for equal args: no index keeps two that start at the same moment apart',
    edits: [
      {
        file: 'src/store/schema/tables/0003_operations.sql',
        from: 'fingerprint      text not null unique,',
        to: 'fingerprint      text not null,',
      },
      {
        file: 'src/store/schema/functions/operations.sql',
        from: 'on conflict (fingerprint) do nothing',
        to: 'on conflict do nothing',
      },
    ],
    caughtBy: inStore('two equal operations that start at the same moment become one'),
  },
  {
    name: 'two-on-one-table',
    breaks: 'one operation per table: no index keeps two that begin at the same moment apart',
    edits: [
      {
        file: 'src/store/schema/tables/0003_operations.sql',
        from: 'create unique index operation_table_key',
        to: 'create index operation_table_key',
      },
    ],
    caughtBy: inStore('two operations cannot get the same table at the same moment'),
  },
  {
    name: 'key-kept',
    breaks: 'a unique key is freed with the terminal state: an operation that has ended keeps its key',
    edits: [
      {
        file: 'src/store/schema/functions/operations.sql',
        from: 'delete from sluice.operation where id = p_id returning * into o;',
        to: 'select * into o from sluice.operation where id = p_id for update;',
      },
    ],
    caughtBy: inStore('the statement that ends an operation frees its key and its table'),
  },
  {
    name: 'finished-unverified',
    breaks: 'finished means that a second pass has looked: an operation is finished after the first',
    edits: [
      {
        file: lifecycle,
        from: "(o.status in ('queued', 'active') and (not o.verify or o.pass > 1 or o.carved_to is null))",
        to: "o.status in ('queued', 'active')",
      },
    ],
    caughtBy: inStore('an operation with a second pass finishes only after it'),
  },
  {
    name: 'finished-uncarved',
    breaks: 'finished means that all rows are done: an operation is finished before it is carved to its end',
    edits: [{ file: lifecycle, from: 'where o.fully_carved\n       and (o.status', to: 'where (o.status' }],
    caughtBy: inStore('an operation with a second pass finishes only after it'),
  },
  {
    name: 'finished-while-running',
    breaks: 'finished means that all rows are done: an operation is finished while a batch of it runs',
    edits: [
      {
        file: lifecycle,
        from: `\n       ${nothingLeft}\n     for update skip locked`,
        to: '\n     for update skip locked',
      },
    ],
    caughtBy: inStore('an operation is neither finished, paused nor cancelled while one of its batches runs'),
  },
  {
    name: 'paused-while-running',
    breaks: 'a paused operation changes nothing: it counts as paused while a batch of it runs',
    edits: [{ file: lifecycle, from: `\n     ${nothingRuns}\n   returning o.id`, to: '\n   returning o.id' }],
    caughtBy: inStore('an operation is neither finished, paused nor cancelled while one of its batches runs'),
  },
  {
    name: 'cancelled-while-running',
    breaks: 'a cancelled operation changes nothing: it counts as cancelled while a batch of it runs',
    edits: [{ file: lifecycle, from: `\n       ${nothingRuns}\n     for update`, to: '\n     for update' }],
    caughtBy: inStore('an operation is neither finished, paused nor cancelled while one of its batches runs'),
  },
  {
    name: 'second-pass-early',
    breaks: 'a second pass finds what the first has missed: it begins while batches of the first are left',
    edits: [{ file: lifecycle, from: `\n     ${nothingLeft}\n   returning o.id`, to: '\n   returning o.id' }],
    caughtBy: inStore('a second pass begins only when the first is carved to its end and has no batch left'),
  },
  {
    name: 'second-pass-uncarved',
    breaks: 'no row is skipped: the second pass begins before the first is carved to its end',
    edits: [{ file: lifecycle, from: '\n     and o.fully_carved\n', to: '\n' }],
    caughtBy: inStore('a second pass begins only when the first is carved to its end and has no batch left'),
  },
]
