import type { Mutant } from '../mutant.ts'

const store = 'src/store/sweep-claims.ts'
const claim = 'src/patterns/sweeps/claim.ts'
const run = 'src/patterns/sweeps/run.ts'
const finalise = 'src/patterns/sweeps/finalise.ts'
const bounded = 'test/patterns/sweeps/bounded-effects.test.ts'
const stale = 'test/patterns/sweeps/stale-claims.test.ts'

/** Guards that keep the effects of a sweep bounded, its claims apart, and its definition fit for its table. */
export const sweepBounds: readonly Mutant[] = [
  {
    name: 'sweep-released-without-nonce',
    breaks: 'every transition compares the nonce: a stale batch gives back a row that the worker has claimed anew',
    edits: [
      {
        file: store,
        from: 'retry_at = clock_timestamp()\n   where sweep = $1 and worker_id = $2 and nonce = $3',
        to: 'retry_at = clock_timestamp()\n   where sweep = $1 and worker_id = $2 and $3::uuid is not null',
      },
    ],
    caughtBy: { file: stale, test: 'a worker with a stale nonce cannot release a row' },
  },
  {
    name: 'sweep-claim-not-read-back',
    breaks: 'an effect needs a claim that stands: one that a trigger cancels has its effect all the same',
    edits: [{ file: claim, from: 'return readBack(tx, place, owner, mine)', to: 'return readBack && mine' }],
    caughtBy: {
      file: bounded,
      test: 'a sweep of which every claim is cancelled by a trigger is held before any effect',
    },
  },
  {
    name: 'sweep-claim-makes-not-due',
    breaks: 'an effect needs a claim that stands: a row that is not due once it is claimed is let go, for ever',
    edits: [
      { file: claim, from: '  if (!found.due) return lost(', to: '  if (!found.due && place === null) return lost(' },
    ],
    caughtBy: { file: bounded, test: 'a sweep of which every claim makes its row not due is held before any effect' },
  },
  {
    name: 'sweep-claim-changes-version',
    breaks: 'an effect needs a claim that stands: a row whose version a claim changes is let go, for ever',
    edits: [
      {
        file: claim,
        from: 'if (row.unreadable !== undefined || versionOf(place, found.row).version === row.version) return undefined',
        to: 'if (row.unreadable !== undefined || versionOf(place, found.row).version !== null) return undefined',
      },
    ],
    caughtBy: {
      file: bounded,
      test: 'a sweep of which every claim changes the version of its row is held before any effect',
    },
  },
  {
    name: 'sweep-unclaimed-tried-again',
    breaks: 'a row whose claim does not stand is isolated: it is claimed again for the first time, again and again',
    edits: [
      {
        file: run,
        from: 'quarantine: unclaimed !== undefined || attempts',
        to: 'quarantine: unclaimed === null || attempts',
      },
    ],
    caughtBy: {
      file: bounded,
      test: 'a row whose claim a trigger cancels has no effect and is isolated, and the others go',
    },
  },
  {
    name: 'sweep-take-over-not-read-back',
    breaks: 'an effect needs a claim that stands: one that is taken over does not stand in its row',
    edits: [{ file: claim, from: 'if (refused.length > 0) throw', to: 'if (refused.length > rows.length) throw' }],
    caughtBy: { file: bounded, test: 'a claim that cannot be taken over keeps its idempotency key, and has no effect' },
  },
  {
    name: 'sweep-key-not-found-again',
    breaks: 'an effect needs a claim that stands: the text of a key is that of another row, or of none',
    edits: [
      {
        file: claim,
        from: 'unclaimed: findable ? undefined : notFoundAgain',
        to: 'unclaimed: findable && notFoundAgain ? undefined : undefined',
      },
      // All digits are written as a rule, so that every key leads back.
      { file: 'src/store/settings.ts', from: "  extra_float_digits: '1',\n", to: '' },
    ],
    caughtBy: {
      file: bounded,
      test: 'a key whose text does not lead back to its row has no effect, and no other row is taken for it',
    },
  },
  {
    name: 'sweep-marked-still-claimable',
    breaks: 'a row that is marked is not due: its status says after it that it may be claimed',
    edits: [
      {
        file: 'src/targets/postgres/finalise.ts',
        from: 'coalesce(${isClaimable(swept)}, false) as due',
        to: 'coalesce(${isClaimable(swept)}, false) and false as due',
      },
      {
        file: finalise,
        from: "if (place.definition.finalising === 'delete') return result.broken",
        to: "if (place.definition.finalising !== 'set') return result.broken",
      },
    ],
    caughtBy: {
      file: bounded,
      test: 'a row that is due again by its status, once it was finalized, is isolated after its attempts',
    },
  },
  {
    name: 'sweep-due-again-forgotten',
    breaks: 'effects are bounded: a row that is due again after the commit has its effect without end',
    edits: [
      {
        file: 'src/targets/postgres/finalise.ts',
        from: '      and not exists (select from ${raw(table)} t where ${sameKey(key)} and ${isClaimable(swept)})\n',
        to: '      and (true or exists (select from ${raw(table)} t where ${sameKey(key)} and ${isClaimable(swept)}))\n',
      },
    ],
    caughtBy: {
      file: bounded,
      test: 'a row that is due again a moment later, once it was finalized, is isolated after its attempts',
    },
  },
  {
    name: 'sweep-stray-of-others',
    breaks: 'a row has one claim: what another sweep has claimed in the same columns is taken for stray',
    edits: [
      {
        file: 'src/targets/postgres/claim.ts',
        from: 'sluice_claim.nonce::text = t.${named(marks.nonce)}::text)`',
        to: 'sluice_claim.nonce::text = t.${named(marks.nonce)}::text and false)`',
      },
    ],
    caughtBy: {
      file: 'test/patterns/sweeps/shared-columns.test.ts',
      test: 'a row that one sweep has claimed is not stray for another with the same claim columns',
    },
  },
  {
    name: 'sweep-words-not-tried',
    breaks: 'a sweep fits its table: what a column cannot hold shows when rows are claimed',
    edits: [
      {
        file: 'src/targets/postgres/swept-check.ts',
        from: 'if (swept.marks !== undefined) await tryWords(',
        to: 'if (swept.marks !== undefined && !swept.marks) await tryWords(',
      },
    ],
    caughtBy: {
      file: 'test/patterns/sweeps/define.test.ts',
      test: 'a worker does not start with a worker column of the wrong type, and list says so',
    },
  },
  {
    name: 'sweep-statements-not-planned',
    breaks: 'a sweep fits its table: a condition that its statements cannot hold shows when rows are claimed',
    edits: [
      {
        file: 'src/targets/postgres/swept-check.ts',
        from: 'await connection.query(`explain ${text}`, values)',
        to: 'await connection.query(`select ${text.length - values.length}`, [])',
      },
    ],
    caughtBy: {
      file: 'test/patterns/sweeps/define.test.ts',
      test: 'a worker does not start with a table name inside "due", and list says so',
    },
  },
  {
    name: 'sweep-refusal-not-held',
    breaks: 'a sweep says why it does nothing: what the database refuses passes for a database that is away',
    edits: [
      {
        file: 'src/patterns/sweeps/loop.ts',
        from: "if (!['fatal', 'rows'].includes(classify(error))) return false",
        to: "if (!['nothing'].includes(classify(error))) return false",
      },
    ],
    caughtBy: {
      file: 'test/patterns/sweeps/define.test.ts',
      test: 'a sweep that its database refuses later on is held with the reason, and goes on by itself',
    },
  },
  {
    name: 'sweep-held-after-run',
    breaks: 'a person ends a hold: an effect that had begun before puts it on again',
    edits: [
      {
        file: 'src/store/sweeps.ts',
        from: '     where s.wanted_at is null\n       or s.wanted_at <=',
        to: '     where true\n       or s.wanted_at <=',
      },
    ],
    caughtBy: {
      file: 'test/patterns/sweeps/failures.test.ts',
      test: 'an effect that was under way when a person ended the hold does not hold the sweep again',
    },
  },
]
