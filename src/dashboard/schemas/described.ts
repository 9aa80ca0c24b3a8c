import type { Answers, FileAnswer } from '../answers.ts'
import { list, number, nullable, object, optional, text, type Arrived, type Schema } from './schema.ts'

/** A description for each route that answers in JSON: one that is missing or does not fit does not compile. */
export type Described = {
  readonly [N in keyof Answers as Answers[N] extends FileAnswer ? never : N]: Schema<Arrived<Answers[N]>>
}

const plainError = { name: text, message: text, code: optional(text), stack: optional(text) }

export const errorRecord = object({ ...plainError, causes: optional(list(object(plainError))) })

/** The values of a key, one for each of its columns. */
export const keys = list(text)

export const percentiles = object({ p50Ms: nullable(number), p95Ms: nullable(number) })
