import { expect, test } from 'vitest'
import { defineMachine, Sluice } from '../../../src/index.ts'
import { testDatabase } from '../../support/database.ts'

const machine = defineMachine({
  name: 'reviews',
  table: 'reviews',
  states: {
    pending: { to: 'in-review', perform: async () => undefined },
    'in-review': { to: ['approved', 'pending'], delay: '30m', perform: async () => 'approved' },
    approved: {},
  },
})

test('rows are counted by state without reading a large table', async () => {
  await using db = await testDatabase()
  await db.query(`create table reviews (id serial primary key, state text not null,
    state_changed_at timestamptz not null default now())`)
  await db.query(`insert into reviews (state) select case when n <= 7 then 'pending' else 'odd' end
    from generate_series(1, 9) n`)
  await using sluice = new Sluice({ database: db.workerUrl, machines: [machine] })
  expect(sluice.machines.list()).toEqual([
    { name: 'reviews', table: 'reviews', states: ['pending', 'in-review', 'approved'] },
  ])
  expect(await sluice.machines.show('reviews')).toEqual({
    name: 'reviews',
    table: 'reviews',
    counted: 'exact',
    states: [
      { state: 'pending', rows: 7, to: ['in-review'] },
      { state: 'in-review', rows: 0, to: ['approved', 'pending'] },
      { state: 'approved', rows: 0, to: [] },
    ],
    unknown: [{ state: 'odd', rows: 2 }],
    graph: [
      'stateDiagram-v2',
      '  state "in-review" as s1',
      '  [*] --> pending',
      '  pending --> s1',
      '  s1 --> approved : after 30 min',
      '  s1 --> pending : after 30 min',
      '  approved --> [*]',
    ].join('\n'),
  })
  await db.query(`insert into reviews (state) select 'approved' from generate_series(1, 15000)`)
  await db.query('analyze reviews')
  const estimate = await sluice.machines.show('reviews')
  expect(estimate.counted).toBe('estimate')
  const approved = estimate.states.find(({ state }) => state === 'approved')?.rows ?? 0
  expect(Math.abs(approved - 15_000)).toBeLessThan(100)
  await db.query('create index on reviews (state)')
  const bounded = await sluice.machines.show('reviews')
  expect(bounded).toMatchObject({ counted: 'bounded', states: [{ rows: 7 }, { rows: 0 }, { rows: 10_000 }] })
  await expect(sluice.machines.show('review')).rejects.toMatchObject({ code: 'DEFINITION_UNKNOWN' })
})
