// Values that job queues have stumbled over, and what is to become of each.

/** An odd value; `gives` is what the handler must get. Without it the value must be refused. */
export interface OddValue {
  name: string
  make: () => unknown
  gives?: () => unknown
}

/** The value is stored and comes back as it was. */
const kept = (name: string, make: () => unknown): OddValue => ({ name, make, gives: make })
const refused = (name: string, make: () => unknown): OddValue => ({ name, make })

/** Arrays in arrays. */
function nested(depth: number): unknown {
  let value: unknown = 1
  for (let i = 0; i < depth; i++) value = [value]
  return value
}

function cycle(): unknown {
  const value: Record<string, unknown> = { name: 'cycle' }
  value['self'] = { deeper: [value] }
  return value
}

const shared = { same: true }

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

const fail = (): never => {
  throw new Error('no reading here')
}

class Money {
  readonly cents = 5n
}

/** Texts that must survive as they are. */
export const oddTexts: [name: string, text: string][] = [
  ['four-byte characters', '😀𝒳🏴󠁧󠁢󠁳󠁣󠁴󠁿'],
  ['text that changes direction', 'abc\u202Efed\u2066x\u2069'],
  ['zero-width and joined characters', 'a\u200Bb\u200D👩‍👩‍👧\uFEFF'],
  ['combining characters', 'e\u0301\u0323'],
  ['the last code points', '\uFFFF\u{10FFFF}\uFFFD'],
  ['quotes', `'"\`''""$$'`],
  ['backslashes', '\\ \\\\ \\n \\u0000 \\'],
  ['per cent signs and formats', '%s %d %I %L %% %n ${x} $1 $$1'],
  ['SQL', `'; drop table sluice.job; --`],
  ['SQL in dollar quotes', `$$; select pg_sleep(10); $$`],
  ['HTML', '<script>alert(1)</script><img src=x onerror=alert(1)>&amp;'],
  ['a template', '{{constructor.constructor("return process")()}}'],
  ['control characters', '\u0001\u0007\u0008\u001b[31m\u007f\u0085'],
  ['line ends', 'a\r\nb\nc\u2028d\u2029e\r'],
  ['spaces alone', '   \t '],
  ['JSON as text', '{"a":1,"\\u0000":2}'],
  ['the words of JSON', 'null'],
  ['a path', '../../etc/passwd'],
]

/** Texts that PostgreSQL cannot store. */
export const badTexts: [name: string, text: string][] = [
  ['a NUL character', 'a\0b'],
  ['nothing but NUL', '\0'],
  ['a lone high surrogate', 'a\uD83D'],
  ['a lone low surrogate', '\uDE00b'],
  ['surrogates in the wrong order', '\uDE00\uD83D'],
]

export const oddValues: OddValue[] = [
  ...oddTexts.map(([name, text]) => kept(name, () => text)),
  ...badTexts.map(([name, text]) => refused(name, () => text)),
  ...badTexts.map(([name, text]) => refused(`${name} in a key`, () => ({ [text]: 1 }))),
  kept('an empty text', () => ''),
  kept('a text of 200 KB', () => 'x'.repeat(200_000)),
  refused('a text of 1 MB', () => 'x'.repeat(1_000_000)),
  refused('a text of 20 MB', () => 'x'.repeat(20_000_000)),
  refused('a short text of many bytes', () => '😀'.repeat(70_000)),
  refused('a key of 1 MB', () => ({ ['k'.repeat(1_000_000)]: 1 })),
  refused('a bad value behind a key of 100 KB', () => ({ ['k'.repeat(100_000)]: 1n })),
  kept('null', () => null),
  kept('true', () => true),
  refused('NaN', () => Number.NaN),
  refused('Infinity', () => Infinity),
  refused('-Infinity', () => -Infinity),
  // JSON has one zero, and no comparison tells it from the other.
  { name: '-0', make: () => -0, gives: () => 0 },
  kept('2^53 + 1 as JavaScript has it', () => 2 ** 53 + 1),
  kept('the greatest number', () => Number.MAX_VALUE),
  kept('the smallest number', () => Number.MIN_VALUE),
  kept('a third', () => 1 / 3),
  kept('10^21', () => 1e21),
  refused('a BigInt', () => 1n),
  refused('a symbol', () => Symbol('x')),
  refused('a function', () => () => 1),
  { name: 'undefined in an object', make: () => ({ a: undefined, b: 1 }), gives: () => ({ b: 1 }) },
  refused('undefined in an array', () => [1, undefined]),
  refused('an array with a hole', () => Object.assign([], { 0: 1, 2: 3 })),
  { name: 'a Date', make: () => new Date(0), gives: () => '1970-01-01T00:00:00.000Z' },
  refused('an invalid Date', () => new Date('never')),
  refused('a Map', () => new Map([[1, 2]])),
  refused('a Set', () => new Set([1])),
  refused('a RegExp', () => /x/),
  refused('an Error', () => new Error('x')),
  refused('a Buffer', () => Buffer.from('x')),
  refused('a typed array', () => new Float64Array(2)),
  refused('a URL', () => new URL('http://x.test')),
  refused('a Promise', () => Promise.resolve(1)),
  refused('an instance of a class', () => new Money()),
  refused('a boxed text', () => Object('x')),
  refused('a toJSON that throws', () => ({ toJSON: fail })),
  refused('a toJSON that lies', () => ({ secret: 1, toJSON: () => ({}) })),
  refused('a value that contains itself', cycle),
  kept('the same object twice', () => [shared, shared]),
  kept('a depth of 90', () => nested(90)),
  refused('a depth of 10,000', () => nested(10_000)),
  kept('10,000 keys', () => Object.fromEntries(Array.from({ length: 10_000 }, (_, i) => [`k${i}`, i]))),
  refused('100,000 keys', () => Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, i]))),
  {
    name: 'a getter',
    make: () => Object.defineProperty({}, 'a', { enumerable: true, get: () => 7 }),
    gives: () => ({ a: 7 }),
  },
  refused('a getter that throws', () => Object.defineProperty({}, 'a', { enumerable: true, get: fail })),
  refused('a getter that throws what has no text', () =>
    Object.defineProperty({}, 'a', {
      enumerable: true,
      get() {
        throw Object.create(null)
      },
    }),
  ),
  { name: 'a proxy', make: () => new Proxy({ a: 1 }, {}), gives: () => ({ a: 1 }) },
  refused('a proxy that throws', () => new Proxy({}, { ownKeys: fail })),
  refused('a proxy that hides its prototype', () => new Proxy({}, { getPrototypeOf: fail })),
  refused('a revoked proxy', revoked),
  refused('__proto__ as a key', () => JSON.parse('{"__proto__":{"admin":true}}')),
  kept('constructor and prototype as keys', () => ({ constructor: { prototype: 1 }, hasOwnProperty: 2 })),
  { name: 'no prototype', make: () => Object.assign(Object.create(null), { a: 1 }), gives: () => ({ a: 1 }) },
  kept('odd keys', () => ({ '': 1, ' ': 2, 'a.b[0]': 3, '"': 4, '\\': 5, '0': 6, $: 7 })),
  kept('an empty object and an empty array', () => [{}, []]),
]

/** Names that are none. */
export const badNames: [name: string, value: unknown][] = [
  ['an empty name', ''],
  ['spaces', '  '],
  ['a space inside', 'a b'],
  ['a very long name', 'a'.repeat(5_000)],
  ['a name of 20 MB', 'a'.repeat(20_000_000)],
  ['a digit first', '1a'],
  ['a line end behind it', 'a\n'],
  ['a quote', `a'b`],
  ['a semicolon', 'a;b'],
  ['a star', '*'],
  ['Unicode letters', 'größe'],
  ['a NUL character', 'a\0'],
  ['half a surrogate pair', 'a\uD83D'],
  ['__proto__', '__proto__'],
  ['a number', 7],
  ['null', null],
  ['an object', { toString: () => 'default' }],
  ['a symbol', Symbol('default')],
  ['a BigInt', 1n],
]

/** Keys and tags that cannot be. */
export const badKeys: [name: string, value: unknown][] = [
  ...badTexts,
  ['an empty text', ''],
  ['a very long text', 'k'.repeat(5_000)],
  ['a text of 20 MB', 'k'.repeat(20_000_000)],
  ['a number', 7],
  ['undefined', undefined],
  ['an object', {}],
  ['a symbol', Symbol('k')],
]

/** An error with properties as they should not be. */
const errorWith = (properties: PropertyDescriptorMap): Error => Object.defineProperties(new Error('odd'), properties)

function circularCause(): Error {
  const error = new Error('circular')
  error.cause = new Error('between', { cause: error })
  return error
}

/** What handlers may throw. */
export const thrown: [name: string, make: () => unknown][] = [
  ['undefined', () => undefined],
  ['null', () => null],
  ['a number', () => 0],
  ['NaN', () => Number.NaN],
  ['a text', () => 'no error'],
  ['an empty text', () => ''],
  ['a symbol', () => Symbol('thrown')],
  ['a BigInt', () => 5n],
  ['a function', () => fail],
  ['an object', () => ({ message: 'like an error' })],
  ['an object without a prototype', () => Object.create(null)],
  ['a revoked proxy', revoked],
  ['a proxy that throws', () => new Proxy({}, { get: fail, getPrototypeOf: fail })],
  ...[...oddTexts, ...badTexts].map(([name, text]): [string, () => unknown] => [
    `an Error of ${name}`,
    () => new Error(text),
  ]),
  ...badTexts.map(([name, text]): [string, () => unknown] => [`${name} as text`, () => text]),
  ['a text of 20 MB', () => new Error('m'.repeat(20_000_000))],
  ['a text that is cut between two halves', () => new Error(`x${'😀'.repeat(20_000)}`)],
  ['a stack of 10 MB', () => errorWith({ stack: { value: 'at x\n'.repeat(2_000_000) } })],
  ['a stack that is cut between two halves', () => errorWith({ stack: { value: `x${'😀'.repeat(20_000)}` } })],
  ['a circular cause', circularCause],
  ['a name that is no text', () => errorWith({ name: { value: 7 } })],
  ['a name that is a symbol', () => errorWith({ name: { value: Symbol('n') } })],
  ['a message that is no text', () => errorWith({ message: { value: { a: 1n } } })],
  ['a message that throws', () => errorWith({ message: { get: fail } })],
  ['a name that throws', () => errorWith({ name: { get: fail } })],
  ['a stack that throws', () => errorWith({ stack: { get: fail } })],
  ['a code that throws', () => errorWith({ code: { get: fail } })],
  ['a code with NUL', () => errorWith({ code: { value: 'E\0' } })],
  ['a toString that throws', () => ({ toString: fail })],
  [
    'many errors in one',
    () =>
      new AggregateError(
        Array.from({ length: 10_000 }, () => new Error('one')),
        'many',
      ),
  ],
]

/** Texts for `sluice.enqueue`, and what the handler must get; without that, the text must be refused. */
export const sqlTexts: [name: string, text: string, gives?: unknown][] = [
  ['no text', ''],
  ['no JSON', '{job: take}'],
  ['a JSON text', '"take"'],
  ['a JSON number', '7'],
  ['null', 'null'],
  ['a list in a list', '[[]]'],
  ['a list with null', '[null]'],
  ['an object without a job', '{}'],
  ['a NUL character', '{"job":"take","args":{"value":"a\\u0000b"}}'],
  ['half a surrogate pair', '{"job":"take","args":{"value":"\\ud83d"}}'],
  ['NaN', '{"job":"take","args":{"value":NaN}}'],
  ['an unknown field', '{"job":"take","arg":{}}'],
  ['a depth of 100,000', `{"job":"take","args":{"value":${'['.repeat(100_000)}${']'.repeat(100_000)}}}`],
  ['a depth of 1,000', `{"job":"take","args":{"value":${'['.repeat(1_000)}1${']'.repeat(1_000)}}}`, nested(1_000)],
  ['a text of 1 MB', JSON.stringify({ job: 'take', args: { value: 'x'.repeat(1_000_000) } })],
  ['a text of 20 MB', JSON.stringify({ job: 'take', args: { value: 'x'.repeat(20_000_000) } })],
  ['an empty name', '{"job":""}'],
  ['a long name', JSON.stringify({ job: 'a'.repeat(5_000) })],
  ['a name with SQL', JSON.stringify({ job: `x'; drop table sluice.job; --` })],
  ['a job that is a number', '{"job":7}'],
  ['a queue of spaces', '{"job":"take","queue":"  "}'],
  ['a priority that is none', '{"job":"take","priority":"urgent"}'],
  ['a priority that is a number', '{"job":"take","priority":0}'],
  ['a delay below zero', '{"job":"take","delayMs":-1}'],
  ['a delay beyond all calendars', '{"job":"take","delayMs":1e300}'],
  ['a delay as text', '{"job":"take","delayMs":"5"}'],
  ['a time that is none', '{"job":"take","runAt":"soon"}'],
  ['a time beyond all calendars', '{"job":"take","runAt":"999999-01-01"}'],
  ['a time without an end', '{"job":"take","runAt":"infinity"}'],
  ['a time before all times', '{"job":"take","runAt":"-infinity"}'],
  ['tags that are no list', '{"job":"take","tags":"x"}'],
  ['a tag that is a number', '{"job":"take","tags":[7]}'],
  ['a tag that is null', '{"job":"take","tags":[null]}'],
  ['an empty tag', '{"job":"take","tags":[""]}'],
  ['a tag that is too long', JSON.stringify({ job: 'take', tags: ['t'.repeat(5_000)] })],
  ['too many tags', JSON.stringify({ job: 'take', tags: Array.from({ length: 21 }, (_, i) => `t${i}`) })],
  ['a unique key that is too long', JSON.stringify({ job: 'take', unique: { key: 'k'.repeat(5_000) } })],
  ['an empty unique key', '{"job":"take","unique":{"key":""}}'],
  ['a unique lock until never', '{"job":"take","unique":{"until":"never"}}'],
  ['a unique lock for a text', '{"job":"take","unique":{"forMs":"x"}}'],
  ['a unique lock for ever and ever', '{"job":"take","unique":{"forMs":1e300}}'],
  ['an unknown field of a unique lock', '{"job":"take","unique":{"for":"1h"}}'],
  ['a key without a name', '{"job":"take","key":{"limit":1}}'],
  ['a key with an empty name', '{"job":"take","key":{"name":"","limit":1}}'],
  ['a limit of 0', '{"job":"take","key":{"name":"a","limit":0}}'],
  ['a limit of a half', '{"job":"take","key":{"name":"a","limit":1.5}}'],
  ['a limit as text', '{"job":"take","key":{"name":"a","limit":"many"}}'],
  ['a limit of a million', '{"job":"take","key":{"name":"a","limit":1000000}}'],
  ['__proto__ as a key', '{"job":"take","args":{"__proto__":{"admin":true},"value":1}}', 1],
  ['a long fraction', '{"job":"take","args":{"value":0.1000000000000000055511151231257827}}', 0.1],
  ...oddTexts.map(([name, text]): [string, string, unknown] => [
    name,
    JSON.stringify({
      job: 'take',
      args: { value: text },
      tags: [text],
      unique: { key: text },
      key: { name: text, limit: 2 },
    }),
    text,
  ]),
]
