import type { Field } from './shape.ts'

/** A name of something of ours, in a path or a filter. */
export const name = { type: 'string', maxLength: 200 } as const satisfies Field
export const operationId = {
  type: 'string',
  maxLength: 36,
  pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$',
  required: true,
} as const satisfies Field
export const wholeId = {
  type: 'integer',
  minimum: 1,
  maximum: 9_007_199_254_740_991,
  required: true,
} as const satisfies Field
export const before = {
  type: 'integer',
  minimum: 1,
  maximum: 9_007_199_254_740_991,
  description: 'Continue the list from here.',
} as const satisfies Field
export const limit = { type: 'integer', minimum: 1, maximum: 200 } as const satisfies Field
export const reason = {
  type: 'string',
  maxLength: 500,
  description: 'Why, for those who look later.',
} as const satisfies Field
/** The state in which the page shows what it acts on. */
export const expectedState = {
  type: 'string',
  maxLength: 40,
  required: true,
  description: 'The state in which you have seen it. In another one nothing is done, and the answer is 409.',
} as const satisfies Field
export const span = { type: 'string', maxLength: 12, pattern: '^\\d{1,5}(ms|s|m|h|d)$' } as const satisfies Field
