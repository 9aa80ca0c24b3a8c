/**
 * Takes the passwords out of connection strings anywhere in a text. Greedier than it need be for a valid string: one
 * that is mistyped, with a bare "@" or "/" in its password, must not show any of it either.
 */
export function redact(text: string): string {
  let shown = ''
  let from = 0
  for (const { start, end } of passwordsIn(text)) {
    shown += `${text.slice(from, start)}***`
    from = end
  }
  // This expression is linear: nothing follows the run of characters, so the engine never goes back.
  return (shown + text.slice(from)).replace(/([?&]password=)[^&\s"']*/gi, '$1***')
}

const space = /\s/

/**
 * Where the passwords of connection strings are: from the colon after `://user` to the last "@" of the same word. Each
 * character is read once, because texts come from outside: a regular expression for the same takes quadratic time when
 * `://a:` is repeated, and blocked a process for seconds.
 */
export function* passwordsIn(characters: Iterable<string>): Generator<{ start: number; end: number }> {
  let at = 0
  let before: Before = 'nothing'
  let start = 0
  let end = -1
  for (const character of characters) {
    if (space.test(character)) {
      if (before === 'password' && end >= start) yield { start, end }
      before = 'nothing'
    } else if (before !== 'password') {
      before = after(before, character)
      if (before === 'password') [start, end] = [at + 1, -1]
    } else if (character === '@') {
      end = at
    }
    at += character.length
  }
  if (before === 'password' && end >= start) yield { start, end }
}

/** What of `://user:` has been read of a word. */
type Before = 'nothing' | ':' | ':/' | 'user' | 'password'

function after(before: Exclude<Before, 'password'>, character: string): Before {
  if (before === 'user') {
    if (character === ':') return 'password'
    return '@/?#'.includes(character) ? 'nothing' : 'user'
  }
  if (character === ':') return ':'
  if (character !== '/') return 'nothing'
  return before === ':' ? ':/' : before === ':/' ? 'user' : 'nothing'
}
