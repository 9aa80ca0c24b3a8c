/**
 * Takes the passwords out of connection strings anywhere in a text. Greedier than it need be for a valid string: one
 * that is mistyped, with a bare "@" or "/" in its password, must not show any of it either.
 */
export function redact(text: string): string {
  return text.replace(/(:\/\/[^\s:@/?#]*):\S*@/g, '$1:***@').replace(/([?&]password=)[^&\s"']*/gi, '$1***')
}
