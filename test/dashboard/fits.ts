/** A part of a JSON Schema, as far as we use it. */
interface SchemaPart {
  type?: string
  enum?: string[]
  format?: string
  items?: SchemaPart
  anyOf?: SchemaPart[]
  properties?: Record<string, SchemaPart>
  required?: string[]
}

const isMoment = (value: unknown): boolean => typeof value === 'string' && /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)

/** What does not fit a schema, and where. What it says nothing of does not fit either. */
export function misfits(schema: SchemaPart, value: unknown, at = ''): string[] {
  if (schema.anyOf !== undefined) {
    const tries = schema.anyOf.map((one) => misfits(one, value, at))
    return tries.some((found) => found.length === 0) ? [] : (tries[0] ?? [])
  }
  if (schema.properties !== undefined) return misfitsOfObject(schema, value, at)
  if (schema.type === 'array') {
    const { items = {} } = schema
    return Array.isArray(value)
      ? value.flatMap((one, n) => misfits(items, one, `${at}[${n}]`))
      : [`${at} is no list: ${JSON.stringify(value)}`]
  }
  const fits =
    schema.type === undefined ||
    (schema.type === 'null' && value === null) ||
    (schema.type === 'integer' && Number.isSafeInteger(value)) ||
    (typeof value === schema.type &&
      (schema.enum === undefined || schema.enum.includes(String(value))) &&
      (schema.format !== 'date-time' || isMoment(value)))
  return fits ? [] : [`${at} is not ${JSON.stringify(schema)}: ${JSON.stringify(value)}`]
}

function misfitsOfObject({ properties = {}, required = [] }: SchemaPart, value: unknown, at: string): string[] {
  if (typeof value !== 'object' || value === null) return [`${at} is no object: ${JSON.stringify(value)}`]
  const missing = required.filter((name) => !Object.hasOwn(value, name)).map((name) => `${at}.${name} is missing`)
  const found = Object.entries(value).flatMap(([name, one]) => {
    const schema = properties[name]
    return schema === undefined ? [`${at}.${name} is not described`] : misfits(schema, one, `${at}.${name}`)
  })
  return [...missing, ...found]
}
