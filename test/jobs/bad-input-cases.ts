import type { StandardSchemaV1 } from '@standard-schema/spec'
import { afterAll, expect } from 'vitest'
import { defineJob, SluiceError, type JobDefinition } from '../../src/index.ts'
import type { TestDatabase } from '../support/database.ts'
import { drained, type JobWorker } from '../support/jobs.ts'

export type Args = { value: unknown }

/** Lets everything through. */
export const args: StandardSchemaV1<Args, Args> = {
  '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value: value as Args }) },
}

let cases = 0

/** Counts a case, or several. */
export const count = (more = 1): void => void (cases += more)

/** Says at the end of a file how many cases it had. */
export function sayCount(): void {
  cases = 0
  afterAll(() => void process.stdout.write(`bad input: ${cases} cases\n`))
}

/** A job that remembers what it was given. */
export function taking(name = 'take'): { take: JobDefinition<Args>; got: Map<number, unknown> } {
  const got = new Map<number, unknown>()
  const take = defineJob({
    name,
    args,
    retry: false,
    perform: ({ args: given, job }) => void got.set(job.id, given.value),
  })
  return { take, got }
}

/** What became of an attempt to enqueue: a refusal in clear words, or ids. */
export async function tried(enqueue: () => Promise<{ id: number }[]>): Promise<{ ids: number[] } | { code: string }> {
  count()
  try {
    return { ids: (await enqueue()).map(({ id }) => id) }
  } catch (error) {
    expect(error).toBeInstanceOf(SluiceError)
    const { code, message } = error as SluiceError
    expect(message).toMatch(/^[\s\S]{20,2000}$/)
    expect(message.isWellFormed()).toBe(true)
    return { code }
  }
}

export const jobsIn = (db: TestDatabase): Promise<number> => db.value('select count(*)::int from sluice.job')

/** Lets a worker do all there is, and checks that nothing is left: no job, no claim, no lock. */
export async function finish(db: TestDatabase, { sluice }: JobWorker): Promise<void> {
  await sluice.start()
  await drained(db)
  await sluice.stop()
  expect(await db.query('select * from sluice.job_claim')).toEqual([])
  expect(await db.query('select * from sluice.job_lock')).toEqual([])
}

/** Numbers for `sluice.enqueue`, and what the handler must get; without that, they must be refused. */
export const sqlNumbers: [name: string, text: string, gives?: unknown][] = [
  ['a bigint beyond 2^53', '{"job":"take","args":{"value":1797468113492090881}}'],
  ['a bigint beyond 2^53 below zero', '{"job":"take","args":{"value":[{"id":-9007199254740993}]}}'],
  ['a number beyond all numbers', '{"job":"take","args":{"value":1e400}}'],
  ['the largest whole number that is exact', '{"job":"take","args":{"value":9007199254740991}}', 2 ** 53 - 1],
  ['a bigint as text', '{"job":"take","args":{"value":"1797468113492090881"}}', '1797468113492090881'],
  [
    'a large number that loses nothing',
    '{"job":"take","args":{"value":1.2345678901234567e+200}}',
    1.2345678901234567e200,
  ],
  ['the largest number', '{"job":"take","args":{"value":1.7976931348623157e+308}}', Number.MAX_VALUE],
]
