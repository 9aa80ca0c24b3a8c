import type { Mutant } from '../mutant.ts'

const choose = 'src/targets/postgres/choose-walk.ts'
const values = 'src/targets/postgres/value-window.ts'
const window = 'src/targets/postgres/window.ts'
const inWalk = (test: string): Mutant['caughtBy'] => ({ file: 'test/operations/walk.test.ts', test })
const sized = inWalk(
  'along dates, each with many rows, descending, each row in scope is changed once, and no other, in windows that are never too large',
)

/** Which index an operation goes along, and where its windows end there. */
export const walks: readonly Mutant[] = [
  {
    name: 'walk-by-a-column-that-is-set',
    breaks: 'each row is changed once: a change moves rows along the walk, to where they are met again',
    edits: [
      {
        file: choose,
        from: 'column.generated === true || changes.columns.includes(column.name)',
        to: 'column.generated === true',
      },
    ],
    caughtBy: inWalk('where the change moves rows along the index'),
  },
  {
    name: 'walk-by-a-computed-column',
    breaks: 'each row is changed once: a change moves rows along a walk by a column that is computed from it',
    edits: [
      {
        file: choose,
        from: 'column.generated === true || changes.columns.includes(column.name)',
        to: 'changes.columns.includes(column.name)',
      },
    ],
    caughtBy: inWalk('where the column is computed from one that changes'),
  },
  {
    name: 'walk-by-a-column-that-a-trigger-sets',
    breaks: 'each row is changed once: a trigger moves rows along the walk, to where they are met again',
    edits: [{ file: choose, from: 't.tgtype & 16 <> 0', to: 'false' }],
    caughtBy: inWalk('where a trigger may move rows along the index'),
  },
  {
    name: 'walk-begins-where-no-row-is-in-scope',
    breaks: 'nothing is read in vain: a walk to the newest rows begins at the oldest',
    edits: [
      {
        file: 'src/targets/postgres/index-use.ts',
        from: 'at === 0 && upward && !index.partial',
        to: 'at === 0 && !index.partial',
      },
    ],
    caughtBy: inWalk(
      'along the newest, each row in scope is changed once, and no other, in windows that are never too large',
    ),
  },
  {
    name: 'walk-splits-no-group',
    breaks: 'transactions are short: rows that share a value are changed in one, however many they are',
    edits: [{ file: values, from: 'if (size > 1 && !end.tied) return', to: 'if (size > 1) return' }],
    caughtBy: sized,
  },
  {
    name: 'walk-foresees-no-group',
    breaks: 'transactions are short: the window after this one takes in all rows with its last value',
    edits: [
      {
        file: values,
        from: "case when sluice_pair.v[1] = sluice_pair.v[2] then null else ${textOf(place.walk, 'sluice_pair.v[1]')} end",
        to: "${textOf(place.walk, 'sluice_pair.v[1]')}",
      },
    ],
    caughtBy: sized,
  },
  {
    name: 'walk-begins-a-group-again',
    breaks: 'each row is changed once: in each window of a group, the rows of those before are changed again',
    edits: [
      {
        file: window,
        from: "::${raw(type ?? 'text')} and ${compare(others, '>', lower.slice(1))}`",
        to: "::${raw(type ?? 'text')}`",
      },
    ],
    caughtBy: inWalk('a group of equal values that is larger than a sub-batch is split by the key'),
  },
  {
    name: 'walk-sets-a-value-aside',
    breaks: 'no row is forgotten: all rows that come later with the value of one in quarantine are passed over',
    edits: [{ file: values, from: 'if (size > 1 && !end.tied) return', to: 'if (!end.tied) return' }],
    caughtBy: inWalk(
      'a row that comes later with the value of one in quarantine that it had alone is not taken for it',
    ),
  },
  {
    name: 'walk-of-few-rows-along-the-key',
    breaks: 'nothing is read in vain: few rows that an index finds are looked for along the key',
    edits: [
      { file: window, from: "export const foundFirst = raw('offset 0')", to: "export const foundFirst = raw('')" },
    ],
    caughtBy: inWalk('few rows that an index finds in no order of the key are put in order, and no others are read'),
  },
  {
    name: 'size-of-an-empty-window',
    breaks: 'every operation ends: one that finds no row learns from it that a sub-batch has none',
    edits: [{ file: 'src/operations/batch-sizes.ts', from: 'if (unit.rows >= 1) this.#wanted', to: 'this.#wanted' }],
    caughtBy: {
      file: 'test/operations/batch-sizes.test.ts',
      test: 'a window with no row in it leaves the size as it is',
    },
  },
]
