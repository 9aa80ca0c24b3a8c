/** Values with arrays as text in PostgreSQL's notation, which every driver passes on as it is. */
export function plainValues(values: readonly unknown[]): unknown[] {
  return values.map((value) => (Array.isArray(value) ? arrayLiteral(value) : value))
}

function arrayLiteral(array: readonly unknown[]): string {
  return `{${array.map(element).join(',')}}`
}

function element(value: unknown): string {
  if (value === null || value === undefined) return 'NULL'
  if (Array.isArray(value)) return arrayLiteral(value)
  const text = value instanceof Date ? value.toISOString() : typeof value === 'string' ? value : JSON.stringify(value)
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`
}
