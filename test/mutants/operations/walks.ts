import type { Mutant } from '../mutant.ts'

const inWalk = (test: string): Mutant['caughtBy'] => ({ file: 'test/operations/walk.test.ts', test })

/** Along which index an operation goes, and where its windows end there. */
export const walks: readonly Mutant[] = [
  {
    name: 'walk-of-few-rows-along-the-key',
    breaks: 'nothing is read in vain: few rows that an index finds are looked for along the key',
    edits: [
      {
        file: 'src/targets/postgres/window.ts',
        from: "const foundFirst = raw('offset 0')",
        to: "const foundFirst = raw('')",
      },
    ],
    caughtBy: inWalk('few rows that an index finds in no order of the key are put in order, and no others are read'),
  },
  {
    name: 'look-beyond-an-empty-window',
    breaks: 'every operation ends: the window after one without a row is looked for at row number zero of it',
    edits: [{ file: 'src/targets/postgres/commit.ts', from: 'ahead: moves && rows > 0 ?', to: 'ahead: moves ?' }],
    caughtBy: inWalk('a walk of rows in scope alone ends without an error where there are no rows'),
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
