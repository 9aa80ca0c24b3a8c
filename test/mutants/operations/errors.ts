import type { Mutant } from '../mutant.ts'

const recover = 'src/operations/recover.ts'

const begins = (test: string): Mutant['caughtBy'] => ({ file: 'test/operations/batch-begins.test.ts', test })

/** What an error is taken for, and what comes of it. */
export const errors: readonly Mutant[] = [
  {
    name: 'batch-begins-classless',
    breaks: 'a lost connection fails no operation: any error while a batch begins does',
    edits: [{ file: recover, from: "judge(kind === 'rows' ? 'fatal' : kind, progress", to: "judge('fatal', progress" }],
    caughtBy: begins('a batch goes on when its connection is lost while it begins'),
  },
  {
    name: 'crashed-not-given-back',
    breaks: 'rows on which workers died are left alone: they are tried again when they cannot be isolated',
    edits: [{ file: 'src/operations/run.ts', from: "  if (crashed === 'give back') return giveBack(run)\n", to: '' }],
    caughtBy: begins('rows on which workers died are not tried again when they cannot be isolated'),
  },
]
