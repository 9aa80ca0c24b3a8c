import { defineJob, planned, type PlannedJob, type Sluice } from '../../../src/index.ts'
import { z } from 'zod'

/** What members and callbacks write down, each in the transaction in which it ends. */
export const tables = `
  create table effect (id bigserial, tag int not null, kind text not null);
  create table callback (id bigserial, batch_id bigint not null, kind text not null, live int not null,
    nested int not null, effects int not null, tag int not null);
  grant all on effect, callback to test_worker;
  grant usage on sequence effect_id_seq, callback_id_seq to test_worker;`

const shape = z.object({ tag: z.number() })
const job = (name: string) => defineJob({ name, args: shape, perform: async () => undefined })
const names = ['ok', 'loose', 'flaky', 'grows', 'dies', 'success', 'complete', 'death'] as const
const define = Object.fromEntries(names.map((name) => [name, job(name)])) as Record<
  (typeof names)[number],
  ReturnType<typeof job>
>

/** The same jobs with their work, for the worker processes. Args are taken as they come. */
export const jobsText = (pauseMs: number): string => `
const args = { '~standard': { version: 1, vendor: 'test', validate: (value) => ({ value }) } }
const pause = (ms = ${pauseMs}) => new Promise((resolve) => setTimeout(resolve, ms * (0.5 + Math.random())))
const effect = (tx, tag, kind) => tx.query('insert into effect (tag, kind) values ($1, $2)', [tag, kind])
const ok = defineJob({ name: 'ok', args, transaction: true,
  async perform({ args, tx }) { await pause(); await effect(tx, args.tag, 'ok') } })
// Counted by the statement that ends many jobs at once.
const loose = defineJob({ name: 'loose', args, perform: () => pause() })
const flaky = defineJob({ name: 'flaky', args, transaction: true, retry: { attempts: 5, wait: '100ms' },
  async perform({ args, tx, job }) {
    await pause()
    if (job.attempt === 1) throw new Error('the first time')
    await effect(tx, args.tag, 'flaky')
  } })
// Adds at the beginning of a transaction that stays open.
const grows = defineJob({ name: 'grows', args, transaction: true,
  async perform({ args, tx, batch }) {
    await batch.add(ok, args)
    await batch.addMany(loose, [args])
    await pause()
    await effect(tx, args.tag, 'grows')
  } })
const dies = defineJob({ name: 'dies', args, retry: false, async perform() { await pause(); throw new Error('dead') } })
const callback = (kind) => defineJob({ name: kind, args, transaction: true,
  async perform({ args, tx, job }) {
    const id = Number(job.tags.find((tag) => tag.startsWith('batch:')).slice(6))
    await tx.query(\`insert into callback (batch_id, kind, tag, live, nested, effects) values ($1, $2, $3,
      (select count(*) from sluice.job where batch_id = $1), (select count(*) from sluice.job_batch where parent_id = $1),
      (select count(*) from effect where tag = $3))\`, [id, kind, args.tag])
  } })
const jobs = [ok, loose, flaky, grows, dies, callback('success'), callback('complete'), callback('death')]`

/** A batch of jobs that was begun, and what is known of it before it ran. */
export interface Begun {
  id: number
  tag: number
  parent?: number
}

type Member = keyof typeof define

/** So many members of the mix: most are fine, some fail once, some add others, and in some batches some die. */
function members(tag: number, size: number): PlannedJob[] {
  return Array.from({ length: size }, (_, i) => {
    const kind: Member = tag % 5 === 0 && i % 50 === 7 ? 'dies' : (kinds[i % kinds.length] ?? 'ok')
    return planned(define[kind], { tag })
  })
}

const kinds: readonly Member[] = ['ok', 'loose', 'loose', 'flaky', 'ok', 'loose', 'grows', 'ok', 'loose', 'loose']

const callbacks = (tag: number) => ({
  onSuccess: planned(define.success, { tag }),
  onComplete: planned(define.complete, { tag }),
  onDeath: planned(define.death, { tag }),
})

/** Begins batches of jobs of `size` members: every third opened, filled in pieces and sealed, every seventh nested. */
export async function begin(sluice: Sluice, count: number, size: number): Promise<Begun[]> {
  const begun: Begun[] = []
  for (let tag = 1; tag <= count; tag++) {
    if (tag % 7 === 0) begun.push(...(await nested(sluice, tag, size)))
    else if (tag % 3 === 0) begun.push(await inPieces(sluice, tag, size))
    else begun.push({ tag, id: (await sluice.batches.run(members(tag, size), callbacks(tag))).id })
  }
  return begun
}

async function inPieces(sluice: Sluice, tag: number, size: number): Promise<Begun> {
  const batch = await sluice.batches.open(callbacks(tag))
  for (const { definition, args } of members(tag, size)) await batch.add(definition, args as never)
  await batch.seal()
  return { tag, id: batch.id }
}

/** Half of its members are in two batches inside of it. */
async function nested(sluice: Sluice, tag: number, size: number): Promise<Begun[]> {
  const parent = await sluice.batches.open(callbacks(tag))
  const quarter = Math.ceil(size / 4)
  const inner: Begun[] = []
  for (let i = 0; i < 2; i++) {
    const { id } = await sluice.batches.run(members(tag, quarter), { ...callbacks(tag), parent })
    inner.push({ tag, id, parent: parent.id })
  }
  for (const { definition, args } of members(tag, size - 2 * quarter)) await parent.add(definition, args as never)
  await parent.seal()
  return [{ tag, id: parent.id }, ...inner]
}
