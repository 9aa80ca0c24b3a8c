import type { Mutant } from '../mutant.ts'

const batches = 'src/store/batches.ts'
const lifecycle = 'src/store/lifecycle.ts'
const picking = 'src/store/picking.ts'

const byHolder = (deed: string): Mutant['caughtBy'] => ({
  file: 'test/store/batch-claim.test.ts',
  test: `only the holder of a claim can ${deed}`,
})
const inStore = (file: string, test: string): Mutant['caughtBy'] => ({ file: `test/store/${file}.test.ts`, test })

const own = "id = $1 and nonce = $2 and state = 'running'"
const anyClaim = 'from (select operation_id from sluice.batch where id = $1 and $2::uuid is not null) mine'
const anyones = "id = $1 and $2::uuid is not null and state = 'running'"

/** A transition that compares no nonce. */
function stale(deed: string, { file, from, to }: Mutant['edits'][number]): Mutant {
  const name = `stale-${deed.split(' ')[0]}`
  const breaks = `every transition compares the nonce: a stale worker can ${deed}`
  return { name, breaks, edits: [{ file, from, to }], caughtBy: byHolder(deed) }
}

const carving = 'carving refuses a stopped operation, another pass, and more batches than lanes'

/** Who has a batch, and how it changes hands. */
export const claims: readonly Mutant[] = [
  stale('move a checkpoint', {
    file: 'src/targets/postgres/fence.ts',
    from: 'where ${claimed(claim)} ${same}',
    to: "where b.id = ${claim.batchId} and b.state = 'running' ${same}",
  }),
  stale('finish a batch', {
    file: batches,
    from: "b.id = $1 and b.nonce = $2 and b.state = 'running'\n     returning b.*",
    to: "b.id = $1 and $2::uuid is not null and b.state = 'running'\n     returning b.*",
  }),
  stale('release a batch', {
    file: batches,
    from: `ready_at = clock_timestamp()\n   where ${own}`,
    to: `ready_at = clock_timestamp()\n   where ${anyones}`,
  }),
  stale('retry a batch', {
    file: batches,
    from: `last_error = $3::text::jsonb\n   where ${own}`,
    to: `last_error = $3::text::jsonb\n   where ${anyones}`,
  }),
  stale('renew a lease', { file: batches, from: ' and c.nonce = b.nonce', to: '' }),
  stale('hold an operation', {
    file: lifecycle,
    from: `hold_until = clock_timestamp() + $4 * interval '1 millisecond'\n   from mine`,
    to: `hold_until = clock_timestamp() + $4 * interval '1 millisecond'\n   ${anyClaim}`,
  }),
  stale('trip the breaker of an operation', {
    file: lifecycle,
    from: `set status = 'pausing', reason = $3, status_actor = null\n   from mine`,
    to: `set status = 'pausing', reason = $3, status_actor = null\n   ${anyClaim}`,
  }),
  stale('fail an operation', {
    file: lifecycle,
    from: "b.nonce = $2 and b.state = 'running'\n     for update of b\n   )\n   select",
    to: "$2::uuid is not null and b.state = 'running'\n     for update of b\n   )\n   select",
  }),
  {
    name: 'stop-without-lock',
    breaks: 'every transition compares the nonce: a claim changes hands between the look at it and the stop',
    edits: [
      {
        file: lifecycle,
        from: "     for update of b\n   )\n   update sluice.operation o\n   set status = 'held'",
        to: "   )\n   update sluice.operation o\n   set status = 'held'",
      },
    ],
    caughtBy: inStore('batch-claim', 'a claim that changes hands meanwhile cannot hold an operation'),
  },
  {
    name: 'batch-locked-first',
    breaks: 'nobody waits for ever: who ends a batch locks it before its operation, and others the other way round',
    edits: [{ file: batches, from: 'where c.id = $1)\n     for update', to: 'where c.id = $1)' }],
    caughtBy: inStore('batch-claim', 'who has the operation gets its batches while another waits to finish a batch'),
  },
  stale('quarantine a row', {
    file: 'src/targets/postgres/set-aside.ts',
    from: 'where ${claimed(claim)} and b.checkpoint',
    to: "where b.id = ${claim.batchId} and b.state = 'running' and b.checkpoint",
  }),
  {
    name: 'stale-survived',
    breaks: 'every transition compares the nonce: a claim takes back a crash that another has counted',
    edits: [{ file: batches, from: 'crash_nonce = $2 and crashes', to: '$2::uuid is not null and crashes' }],
    caughtBy: inStore('batch-claim', 'only the claim that was rescued last can take its crash back, and once'),
  },
  {
    name: 'survived-twice',
    breaks: 'rows on which workers die are isolated: one claim takes back more crashes than its own',
    edits: [{ file: batches, from: 'set crashes = crashes - 1, crash_nonce = null', to: 'set crashes = crashes - 1' }],
    caughtBy: inStore('batch-claim', 'only the claim that was rescued last can take its crash back, and once'),
  },
  {
    name: 'stale-finished-by',
    breaks: 'every transition compares the nonce: a stale worker takes the end of a batch for its own',
    edits: [{ file: batches, from: 'and nonce = $2 and id = $1', to: 'and $2::uuid is not null and id = $1' }],
    caughtBy: inStore('batch-claim', 'history names the claim that finished a batch, and no other'),
  },
  {
    name: 'rescue-of-the-living',
    breaks: 'only a claim whose lease has run out is taken over: a rescue does not look at the lease',
    edits: [
      { file: batches, from: ' and lease_until < clock_timestamp()\n', to: '\n' },
      { file: batches, from: '\n     and b.lease_until < clock_timestamp()', to: '' },
    ],
    caughtBy: inStore('rescue', 'a batch is rescued when its lease has run out, and not before'),
  },
  {
    name: 'rescue-without-lock',
    breaks: 'only a claim whose lease has run out is taken over: the lease may be extended before the rescue writes',
    edits: [
      { file: batches, from: 'limit 100\n     for update skip locked', to: 'limit 100' },
      { file: batches, from: "\n     and b.state = 'running'\n     and b.lease_until < clock_timestamp()", to: '' },
    ],
    caughtBy: inStore('rescue', 'a rescue skips a batch that is being worked on'),
  },
  {
    name: 'rescue-waits',
    breaks: "a dead worker's batches are taken over in time: a rescue waits for somebody's sub-batch first",
    edits: [{ file: batches, from: 'limit 100\n     for update skip locked', to: 'limit 100\n     for update' }],
    caughtBy: inStore('rescue', 'a rescue skips a batch that is being worked on'),
  },
  {
    name: 'claim-running',
    breaks: 'a batch has one worker at a time: one that is running is claimed by another',
    edits: [
      { file: picking, from: "and b.state = 'ready'\n       and b.ready_at", to: 'and b.ready_at' },
      { file: picking, from: "\n     and b.state = 'ready'\n   returning", to: '\n   returning' },
    ],
    caughtBy: inStore('picking', 'a running batch cannot be claimed'),
  },
  {
    name: 'claim-without-lock',
    breaks: 'a batch has one worker at a time: two workers claim it at the same moment',
    edits: [
      { file: picking, from: 'limit 1\n     for update skip locked', to: 'limit 1' },
      { file: picking, from: "\n     and b.state = 'ready'\n   returning", to: '\n   returning' },
    ],
    caughtBy: inStore('picking', 'a worker neither claims nor waits for a batch that another worker is claiming'),
  },
  {
    name: 'claim-beyond-lanes',
    breaks: 'an operation keeps to its lanes: claiming does not count the running batches',
    edits: [
      {
        file: picking,
        from: `
       and (select count(*) from sluice.batch r where r.operation_id = $1 and r.state = 'running')
         < (select lanes from sluice.operation where id = $1)`,
        to: '',
      },
    ],
    caughtBy: inStore('picking', 'workers that claim at the same moment stay within the lanes'),
  },
  {
    name: 'claim-without-turn',
    breaks: 'an operation keeps to its lanes: two workers count the running batches at the same moment',
    edits: [{ file: picking, from: 'where id = $1\n   for update`', to: 'where id = $1`' }],
    caughtBy: inStore('picking', 'workers that claim at the same moment stay within the lanes'),
  },
  {
    name: 'carve-twice',
    breaks: 'no row is done twice: two workers carve the same range',
    edits: [{ file: picking, from: '\n       and o.carved_to is not distinct from $2::text[]\n', to: '\n' }],
    caughtBy: inStore('picking', 'two workers cannot carve the same range'),
  },
  {
    name: 'carve-beyond-lanes',
    breaks: 'an operation keeps to its lanes: carving does not count the batches that are there',
    edits: [
      {
        file: picking,
        from: '\n       and (select count(*) from sluice.batch b where b.operation_id = o.id) < o.lanes\n     returning',
        to: '\n     returning',
      },
    ],
    caughtBy: inStore('picking', carving),
  },
  {
    name: 'carve-stopped',
    breaks: 'a pause stops an operation: a batch is carved off one that has been stopped meanwhile',
    edits: [
      {
        file: picking,
        from: "\n       and o.status in ('active', 'verifying')\n       and not",
        to: '\n       and not',
      },
    ],
    caughtBy: inStore('picking', carving),
  },
  {
    name: 'carve-other-pass',
    breaks: 'no row is skipped: a worker that saw the first pass carves off the second',
    edits: [{ file: picking, from: 'and o.pass = $8\n', to: 'and $8::int is not null\n' }],
    caughtBy: inStore('picking', carving),
  },
  {
    name: 'carving-closed-early',
    breaks: 'no row is skipped: a worker closes carving that has missed what another carved',
    edits: [
      {
        file: picking,
        from: 'and pass = $3\n     and carved_to is not distinct from $2::text[]\n',
        to: 'and pass = $3\n     and coalesce($2::text[], array[]::text[]) is not null\n',
      },
    ],
    caughtBy: inStore('picking', 'a worker cannot close carving after another worker has carved further'),
  },
]
