import type { Mutant } from '../mutant.ts'

const store = 'src/store/sweep-claims.ts'
const finalise = 'src/patterns/sweeps/finalise.ts'
const fence = 'test/patterns/sweeps/fence.test.ts'
const stale = 'test/patterns/sweeps/stale-claims.test.ts'

/** Guards of sweeps. */
export const sweeps: readonly Mutant[] = [
  {
    name: 'sweep-fence-removed',
    breaks: 'a stale worker commits nothing: it finalizes rows and releases references that it has lost',
    edits: [
      {
        file: finalise,
        from: 'const held = those(rows, await claims.holdingClaims(tx, { ...owner, keys }))',
        to: 'await claims.holdingClaims(tx, { ...owner, keys })\n  const held = [...rows]',
      },
    ],
    caughtBy: { file: fence, test: 'a row whose claim has another nonce is not finalized, and its reference is kept' },
  },
  {
    name: 'sweep-held-by-worker-alone',
    breaks: 'every transition compares the nonce: a worker finalizes under a claim that it has made anew since',
    edits: [
      {
        file: store,
        from: 'from sluice.sweep_claim\n   where sweep = $1 and worker_id = $2 and nonce = $3',
        to: 'from sluice.sweep_claim\n   where sweep = $1 and worker_id = $2 and $3::uuid is not null',
      },
    ],
    caughtBy: { file: stale, test: 'a worker with a stale nonce cannot hold a row' },
  },
  {
    name: 'sweep-released-still-held',
    breaks: 'a row is finalized under its claim: one that was released is finalized all the same',
    edits: [
      {
        file: store,
        from: 'from sluice.sweep_claim\n   where sweep = $1 and worker_id = $2 and nonce = $3',
        to: 'from sluice.sweep_claim\n   where sweep = $1 and $2::uuid is not null and nonce = $3',
      },
    ],
    caughtBy: { file: fence, test: 'a row whose claim was released is not finalized, and its reference is kept' },
  },
  {
    name: 'sweep-claim-not-locked',
    breaks: 'a row is finalized under its claim: the claim is looked at without a lock and changes hands meanwhile',
    edits: [{ file: store, from: '   order by key\n   for update`', to: '   order by key`' }],
    caughtBy: { file: fence, test: 'a row that is isolated at the moment when it is finalized stays' },
  },
  {
    name: 'sweep-finalised-unseen',
    breaks: 'the finalizer looks again: a row is finalized though it is not due any more',
    edits: [
      {
        file: finalise,
        from: 'found !== undefined && found.due && definition.version(found.row) === version',
        to: 'found !== undefined && definition.version(found.row) === version',
      },
    ],
    caughtBy: { file: fence, test: 'a row that is not due any more is spared when it is finalized' },
  },
  {
    name: 'sweep-version-not-compared',
    breaks: 'the finalizer looks again: a row is finalized though it stands for a new version of its object',
    edits: [
      {
        file: finalise,
        from: 'found.due && definition.version(found.row) === version',
        to: 'found.due && (version !== "" || definition !== undefined)',
      },
    ],
    caughtBy: { file: fence, test: 'a row that was made anew is spared when it is finalized' },
  },
  {
    name: 'sweep-version-not-given',
    breaks: 'an object that was made anew is not deleted: the effect is not told which version was claimed',
    edits: [
      {
        file: 'src/patterns/sweeps/effect.ts',
        from: '    row,\n    version,\n',
        to: '    row,\n    version: version && undefined,\n',
      },
    ],
    caughtBy: {
      file: 'test/patterns/sweeps/claims.test.ts',
      test: 'what was made anew during a claim is spared, and goes later under its own version and key',
    },
  },
  {
    name: 'sweep-count-below-zero',
    breaks: 'a reference count never goes below zero: it is decreased whatever it is',
    edits: [
      {
        file: 'src/targets/postgres/finalise.ts',
        from: 'where t.${name} = sluice_owed.sluice_k0 and t.${number} >= sluice_owed.sluice_n',
        to: 'where t.${name} = sluice_owed.sluice_k0',
      },
    ],
    caughtBy: { file: fence, test: 'a reference count never goes below zero' },
  },
  {
    name: 'sweep-released-twice',
    breaks: 'a reference is released once: a row keeps its claim when it is finalized, and is due as before',
    edits: [
      {
        file: finalise,
        from: 'await handOver(tx, released, { from: owner, to: under })',
        to: 'under && released',
      },
      { file: finalise, from: 'return found !== undefined && found.due &&', to: 'return found !== undefined &&' },
    ],
    caughtBy: { file: fence, test: 'a row that is finalized twice releases its reference once' },
  },
  {
    name: 'sweep-claims-what-others-have',
    breaks: 'a row has one claim: a worker takes a row for its own that another has claimed at the same moment',
    edits: [
      {
        file: 'src/patterns/sweeps/claim.ts',
        from: 'const mine = those(rows, await claims.insertClaims(tx, { ...owner, rows: stored }))',
        to: 'await claims.insertClaims(tx, { ...owner, rows: stored })\n  const mine = rows',
      },
    ],
    caughtBy: { file: fence, test: 'a row that another worker claims at the same moment is left to that worker' },
  },
  {
    name: 'sweep-status-not-changed',
    breaks: 'a claim is a status transition: the row does not say that it is claimed',
    edits: [
      {
        file: 'src/patterns/sweeps/claim.ts',
        from: 'await stamp(tx, place.swept, wanted(mine, owner.nonce), owner.workerId)',
        to: 'await stamp(tx, place.swept, [], owner.workerId)',
      },
    ],
    caughtBy: {
      file: 'test/patterns/sweeps/sweep.test.ts',
      test: 'while an effect runs, the row says who has it, and nothing is locked',
    },
  },
  {
    name: 'sweep-key-made-anew',
    breaks: 'the idempotency key stays the same across attempts: whoever takes a row over makes a new one',
    edits: [
      {
        file: 'src/patterns/sweeps/claim.ts',
        from: '? { key, row, ...now, generation: was.generation, attempts: was.attempts }',
        to: '? { key, row, ...now, generation: randomUUID(), attempts: was.attempts }',
      },
    ],
    caughtBy: {
      file: fence,
      test: 'a row of a dead worker is taken over with its idempotency key and version, under a new nonce',
    },
  },
  {
    name: 'sweep-effect-without-claim',
    breaks: 'effects happen only under a claim: a worker that was asleep begins effects for rows that it has lost',
    edits: [
      {
        file: 'src/patterns/sweeps/run.ts',
        from: 'this.#queue = those(this.#queue, held)',
        to: 'void those(this.#queue, held)',
      },
    ],
    caughtBy: { file: fence, test: 'an effect does not begin for a row that is not ours any more' },
  },
  {
    name: 'sweep-taken-over-without-nonce',
    breaks: 'every transition compares the nonce: two workers take the same row over',
    edits: [{ file: store, from: "     and c.nonce = (r ->> 'was')::uuid\n", to: '' }],
    caughtBy: { file: stale, test: 'a worker with a stale nonce cannot take a row over' },
  },
  {
    name: 'sweep-failed-without-nonce',
    breaks: 'every transition compares the nonce: a stale attempt fails a row that has been claimed anew',
    edits: [
      {
        file: store,
        from: 'where c.sweep = $1 and c.worker_id = $2 and c.nonce = $3',
        to: 'where c.sweep = $1 and c.worker_id = $2 and $3::uuid is not null',
      },
    ],
    caughtBy: { file: stale, test: 'a worker with a stale nonce cannot fail a row' },
  },
  {
    name: 'sweep-ended-without-nonce',
    breaks: 'every transition compares the nonce: a stale worker ends the claim of another',
    edits: [{ file: store, from: "     and c.nonce = (r ->> 'nonce')::uuid\n", to: '' }],
    caughtBy: { file: stale, test: 'a worker with a stale nonce cannot end the claim of a row' },
  },
  {
    name: 'sweep-isolated-without-nonce',
    breaks: 'every transition compares the nonce: a row is isolated under a claim that is alive',
    edits: [{ file: store, from: '     and nonce = $3\n', to: '     and $3::uuid is not null\n' }],
    caughtBy: { file: stale, test: 'a worker with a stale nonce cannot isolate a row' },
  },
]
