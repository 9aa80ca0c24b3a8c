import fc from 'fast-check'
import { expect, test } from 'vitest'
import { passwordsIn, redact } from '../../src/std/redact.ts'

/** What is meant, in words that take quadratic time; for short texts only. */
const reference = (text: string): string =>
  text.replace(/(:\/\/[^\s:@/?#]*):\S*@/g, '$1:***@').replace(/([?&]password=)[^&\s"']*/gi, '$1***')

/** A text that counts how many of its characters are read. Expressions read it behind its back, and are not counted. */
class Counted extends String {
  steps = 0;

  override *[Symbol.iterator](): StringIterator<string> {
    for (const character of this.toString()) {
      this.steps++
      yield character
    }
  }
}

test('passwords are taken out of any text as the short expression for them would', () => {
  const pieces = ['://', ':', '/', '@', '?', '#', '&password=', '?Password=', 'a', 'ü', '😀', ' ', '\n', '\u00a0', '"']
  const texts = fc.array(fc.constantFrom(...pieces), { maxLength: 24 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(texts, (text) => {
      expect(redact(text)).toBe(reference(text))
    }),
    { numRuns: 5_000, examples: [['://a:a@a@a']] },
  )
})

test.each([
  ['beginnings of connection strings', '://a:'],
  ['beginnings that have an end', '://a:@'],
  ['long names of users', `://${'a'.repeat(100)}`],
  ['beginnings that are words', '://a: '],
])('a text of %s is read once, character by character', (_, piece) => {
  const text = piece.repeat(2_000)
  const counted = new Counted(text)
  const found = [...passwordsIn(counted)]
  expect(counted.steps).toBe(text.length)
  expect(found.length).toBeLessThanOrEqual(1)
  const whole = new Counted(text)
  const shown = redact(whole as unknown as string)
  expect(whole.steps).toBe(text.length)
  expect(shown).toBe(redact(text))
})
