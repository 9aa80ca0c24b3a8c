const months = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
]
const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday']

const number = /^\d+$/
const listed = (texts: readonly string[]): string =>
  texts.length < 2 ? (texts[0] ?? '') : `${texts.slice(0, -1).join(', ')} and ${texts.at(-1)}`
const two = (text: string): string => text.padStart(2, '0')

/** A field as names: one, some, or a span; undefined: something finer. */
function named(field: string, names: readonly string[], from: number): string | undefined {
  const nameOf = (text: string): string | undefined => {
    const at = names.findIndex((name) => name.slice(0, 3).toLowerCase() === text.toLowerCase())
    return number.test(text) ? names[Number(text) - from] : names[at]
  }
  const span = /^(\w+)-(\w+)$/.exec(field)
  if (span !== null) {
    const [first, last] = [nameOf(span[1] ?? ''), nameOf(span[2] ?? '')]
    return first === undefined || last === undefined ? undefined : `${first} to ${last}`
  }
  const all = field.split(',').map(nameOf)
  return all.includes(undefined) ? undefined : listed(all.map(String))
}

/** Every so many, or every one; undefined: something else. */
const every = (field: string, unit: string): string | undefined => {
  const step = /^\*\/(\d+)$/.exec(field)?.[1]
  return step === undefined ? undefined : step === '1' ? `every ${unit}` : `every ${step} ${unit}s`
}

/** The time of day; undefined: something finer. */
function timeOf(minute: string, hour: string): string | undefined {
  if (hour === '*') {
    if (minute === '*') return 'every minute'
    return number.test(minute) ? `every hour at ${minute} past` : every(minute, 'minute')
  }
  if (!number.test(minute)) return undefined
  if (hour.split(',').every((one) => number.test(one))) {
    return `at ${listed(hour.split(',').map((one) => `${two(one)}:${two(minute)}`))}`
  }
  const hours = every(hour, 'hour')
  return hours === undefined ? undefined : `${hours} at ${minute} past`
}

/** A rule in words, where it is one of the usual ones; undefined: its pattern has to do. */
export function cronWords(rule: string): string | undefined {
  if (rule.startsWith('every ')) return undefined
  const fields = rule.trim().split(/\s+/)
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields.length === 6 ? fields.slice(1) : fields
  if (fields.length === 6 && fields[0] !== '0') return undefined
  const time = timeOf(minute, hour)
  const inMonths = month === '*' ? '' : named(month, months, 1)
  if (time === undefined || inMonths === undefined || (day !== '*' && weekday !== '*')) return undefined
  const suffix = inMonths === '' ? '' : ` in ${inMonths}`
  if (weekday !== '*') {
    const on = named(weekday, days, 0)
    return on === undefined ? undefined : `${time} on ${on}${suffix}`
  }
  if (day === '*') return `${time}${time.startsWith('every') ? '' : ' every day'}${suffix}`
  if (day.toUpperCase() === 'L') return `${time} on the last day of the month${suffix}`
  const those = day.split(',')
  return those.every((one) => number.test(one)) ? `${time} on day ${listed(those)} of the month${suffix}` : undefined
}
