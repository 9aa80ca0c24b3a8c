import { expect, test } from 'vitest'
import { verdictOf, type Outcome } from '../../src/cli/demo/result.ts'

const census = { aged: 6, fresh: 4, freshIds: 'a' }

function resultOf(after: Partial<Outcome['after']>, status: Partial<Outcome['status']> = {}): Outcome {
  return {
    before: census,
    after: { ...census, aged: 0, ...after },
    status: { state: 'finished', rowsChanged: 6, error: null, ...status },
  }
}

test.each([
  ['all is right', resultOf({}), /^verified$/],
  ['aged rows are left', resultOf({ aged: 1 }), /1 aged/],
  ['fresh rows are missing', resultOf({ fresh: 3 }), /4 fresh rows and now there are 3/],
  ['other fresh rows are there', resultOf({ freshIds: 'b' }), /not the same/],
  ['rows were counted twice', resultOf({}, { rowsChanged: 7 }), /counted 7/],
  [
    'the operation failed',
    resultOf({}, { state: 'failed', error: { name: 'E', message: 'no disk' } }),
    /failed: no disk/,
  ],
])('%s', (_, result, verdict) => {
  expect(verdictOf(result)).toMatch(verdict)
})
