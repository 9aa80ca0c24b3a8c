import { expect, test } from 'vitest'
import { mask, masked, problemOfPaths, scrub, secretsAt } from '../../src/std/mask.ts'

const args = {
  token: 'hunter2',
  users: [{ name: 'ada', key: 'k-12345' }, { name: 'bob' }],
  n: 7,
  card: { no: 4242424242 },
}

test('what is at a path is masked, and nothing else', () => {
  expect(mask(args, ['args.token', 'args.users.*.key', 'args.card', 'args.none.at.all'])).toEqual({
    token: masked,
    users: [{ name: 'ada', key: masked }, { name: 'bob' }],
    n: 7,
    card: masked,
  })
  expect(mask(null, ['args.token'])).toBeNull()
  expect(args.token).toBe('hunter2')
})

test('what was masked there is masked in other texts, too', () => {
  const secrets = secretsAt({ ...args, odd: 'a"b c', short: 'x' }, [
    'args.token',
    'args.card',
    'args.odd',
    'args.short',
  ])
  expect(scrub({ message: 'bad hunter2!', at: [`see ?t=hunter2`, 4242424242], n: 1, x: 'x' }, secrets)).toEqual({
    message: `bad ${masked}!`,
    at: [`see ?t=${masked}`, masked],
    n: 1,
    x: 'x',
  })
  expect(scrub('{"odd":"a\\"b c"} a"b c a%22b%20c', secrets)).toBe(`{"odd":"${masked}"} ${masked} ${masked}`)
  expect(scrub('hunter2', [])).toBe('hunter2')
})

test.each([[['token']], [['args']], [['args.']], [['args.a b']], [[7]], ['args.x']])('%j are no paths', (paths) => {
  expect(problemOfPaths(paths)).toMatch(/path/)
})
