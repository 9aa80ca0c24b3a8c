/* oxlint-disable no-control-regex -- finding control characters is what this file is for */

/** Text that is safe on a terminal: control, escape and text-direction characters are shown, not obeyed. */
export function printable(text: string): string {
  return text.replace(
    /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
