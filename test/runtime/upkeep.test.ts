import { expect, test } from 'vitest'
import { Upkeep } from '../../src/runtime/upkeep.ts'

function upkeep({ missing }: { missing: boolean }): { kept: () => number; turn: Upkeep['turn'] } {
  let kept = 0
  const keeper = new Upkeep({
    missing: () => Promise.resolve(missing),
    keep() {
      kept += 1
      return Promise.resolve()
    },
  })
  return { kept: () => kept, turn: (now, random) => keeper.turn(now, random) }
}

test('what is missing is made at once, and then looked after every hour', async () => {
  const at = upkeep({ missing: true })
  await at.turn(0, 0.99)
  expect(at.kept()).toBe(1)
  await at.turn(3_599_999, 0)
  expect(at.kept()).toBe(1)
  await at.turn(3_600_000, 0)
  expect(at.kept()).toBe(2)
})

test('fifty workers that start together do it at different moments, within a minute', async () => {
  const workers = Array.from({ length: 50 }, () => upkeep({ missing: false }))
  for (const [i, { turn }] of workers.entries()) await turn(1_000, i / 50)
  const done = (): number => workers.filter(({ kept }) => kept() === 1).length
  // The first of them has drawn a wait of none.
  expect(done()).toBe(1)
  for (const { turn } of workers) await turn(31_000, 0)
  expect(done()).toBe(26)
  for (const { turn } of workers) await turn(61_000, 0)
  expect(done()).toBe(50)
})

test('what fails is done at the next turn', async () => {
  let tries = 0
  const keeper = new Upkeep({
    missing: () => Promise.resolve(true),
    keep() {
      tries += 1
      return tries === 1 ? Promise.reject(new Error('away')) : Promise.resolve()
    },
  })
  await expect(keeper.turn(0, 0)).rejects.toThrow('away')
  await keeper.turn(1, 0)
  expect(tries).toBe(2)
})
