import { describe, expect, test } from 'vitest'
import { defineWindow, isOpen, nextOpening } from '../../src/index.ts'
import { closedReason } from '../../src/runtime/window.ts'

const at = (text: string): Date => new Date(text)

describe('a window', () => {
  test.each([
    ['00:00-06:00 Europe/Berlin', '00:00-06:00 Europe/Berlin'],
    ['0:00 - 6:30', '00:00-06:30 UTC'],
    ['mon-fri 22:00-06:00 America/New_York', 'mon,tue,wed,thu,fri 22:00-06:00 America/New_York'],
    ['fri-mon 22:00-24:00', 'sun,mon,fri,sat 22:00-24:00 UTC'],
    ['sat, sun 00:00-24:00', 'sun,sat 00:00-24:00 UTC'],
  ])('%s is %s', (text, canonical) => {
    expect(defineWindow(text).text).toBe(canonical)
    expect(defineWindow(canonical).text).toBe(canonical)
  })

  test.each<[unknown, RegExp]>([
    ['at night', /write it as in/],
    ['00:00-06:00 Mars/Olympus', /is not a time zone/],
    ['24:00-06:00', /"from" must be a time of day/],
    ['00:00-24:30', /"to" must be a time of day/],
    ['00:00-06:61', /"to" must be a time of day/],
    ['06:00-06:00', /opens and closes at the same time/],
    ['someday 00:00-06:00', /the days must be some of/],
    [{ from: '00:00', to: '06:00', days: [] }, /"days" must be some of/],
    [{ from: '00:00', to: '06:00', zon: 'UTC' }, /no option "zon". Did you mean "zone"\?$/],
    [{ from: '00:00', to: '06:00', except: ['2026-12-25'] }, /"except" must be a function/],
    [7, /text or an object/],
  ])('%j is refused', (spec, message) => {
    expect(() => defineWindow(spec as never)).toThrow(
      expect.objectContaining({ code: 'WINDOW_INVALID', message: expect.stringMatching(message) }),
    )
  })
})

describe('is open', () => {
  const night = defineWindow('22:00-06:00 Europe/Berlin')
  test.each([
    ['2026-01-15T20:59:59Z', false],
    ['2026-01-15T21:00:00Z', true],
    ['2026-01-16T04:59:59Z', true],
    ['2026-01-16T05:00:00Z', false],
    // Summer: two hours ahead.
    ['2026-07-15T20:00:00Z', true],
    ['2026-07-16T04:00:00Z', false],
    // The night in which an hour is left out, and the one in which it comes twice.
    ['2026-03-29T03:59:59Z', true],
    ['2026-03-29T04:00:00Z', false],
    ['2026-10-25T04:59:59Z', true],
    ['2026-10-25T05:00:00Z', false],
  ])('through the night at %s: %s', (moment, open) => {
    expect(isOpen(night, at(moment))).toBe(open)
  })

  test('on the days on which it opens, also after midnight', () => {
    const weekend = defineWindow({ from: '22:00', to: '06:00', days: ['fri', 'sat'] })
    // 2026-01-16 is a Friday.
    expect(isOpen(weekend, at('2026-01-16T05:00:00Z'))).toBe(false)
    expect(isOpen(weekend, at('2026-01-16T22:00:00Z'))).toBe(true)
    expect(isOpen(weekend, at('2026-01-18T05:59:00Z'))).toBe(true)
    expect(isOpen(weekend, at('2026-01-18T22:00:00Z'))).toBe(false)
  })

  test('not on holidays, and not where nobody can say', () => {
    const days = defineWindow({ from: '00:00', to: '06:00', except: (date) => date === '2026-12-25' })
    expect(isOpen(days, at('2026-12-24T03:00:00Z'))).toBe(true)
    expect(isOpen(days, at('2026-12-25T03:00:00Z'))).toBe(false)
    const broken = defineWindow({
      from: '00:00',
      to: '06:00',
      except: () => {
        throw new Error('no calendar')
      },
    })
    expect(isOpen(broken, at('2026-12-24T03:00:00Z'))).toBe(false)
  })

  test('a time that is left out opens at the change, and one that comes twice closes at the first', () => {
    const early = defineWindow('02:30-04:00 Europe/Berlin')
    expect(nextOpening(early, at('2026-03-29T00:00:00Z'))).toEqual(at('2026-03-29T01:00:00Z'))
    const late = defineWindow('00:00-02:30 Europe/Berlin')
    expect(isOpen(late, at('2026-10-25T00:29:59Z'))).toBe(true)
    expect(isOpen(late, at('2026-10-25T00:30:00Z'))).toBe(false)
    expect(isOpen(late, at('2026-10-25T01:15:00Z'))).toBe(false)
  })
})

describe('opens next', () => {
  const night = defineWindow('00:00-06:00 Europe/Berlin')

  test('now when it is open, else at its next hour', () => {
    const [inside, outside] = [at('2026-01-15T02:00:00Z'), at('2026-01-15T12:00:00Z')]
    expect(nextOpening(night, inside)).toEqual(inside)
    expect(nextOpening(night, outside)).toEqual(at('2026-01-15T23:00:00Z'))
    expect(closedReason(night, outside)).toBe('outside its window, until 00:00 Europe/Berlin')
  })

  test('on the next of its days, and that is said', () => {
    const sundays = defineWindow('sun 01:00-06:00')
    const friday = at('2026-01-16T12:00:00Z')
    expect(nextOpening(sundays, friday)).toEqual(at('2026-01-18T01:00:00Z'))
    expect(closedReason(sundays, friday)).toBe('outside its window, until sun 01:00 UTC')
    const rare = defineWindow({ from: '01:00', to: '02:00', except: (date) => date !== '2026-03-01' })
    expect(closedReason(rare, friday)).toBe('outside its window, until 2026-03-01 01:00 UTC')
  })

  test('never when every day is excepted', () => {
    const never = defineWindow({ from: '01:00', to: '02:00', except: () => true })
    expect(nextOpening(never, at('2026-01-16T12:00:00Z'))).toBeNull()
    expect(closedReason(never, at('2026-01-16T12:00:00Z'))).toContain('does not open within a year')
  })
})
