import type { JSX } from 'preact'
import type { Answer } from '../answers.ts'

type Definition = Answer<'definitions'>['definitions'][number]

/** What was typed so far: into fields, or as JSON. */
export interface ArgsDraft {
  raw: string | undefined
  values: Record<string, string | boolean>
}

interface Property {
  type?: string
  format?: string
  enum?: unknown[]
  description?: string
  default?: unknown
}

interface Schema {
  type?: string
  properties?: Record<string, Property>
  required?: string[]
}

/** The schema, when each of its fields can be drawn. */
function drawable({ args }: Definition): Schema | undefined {
  const schema = args as Schema | null
  if (schema?.type !== 'object') return undefined
  const plain = Object.values(schema.properties ?? {}).every(
    ({ type, enum: words }) => words !== undefined || ['string', 'number', 'integer', 'boolean'].includes(type ?? ''),
  )
  return plain ? schema : undefined
}

/** The args that were typed. */
export function parseArgs(definition: Definition, { raw, values }: ArgsDraft): unknown {
  if (!definition.takesArgs) return undefined
  const schema = drawable(definition)
  if (raw !== undefined || schema === undefined) {
    try {
      return JSON.parse(raw ?? '{}') as unknown
    } catch {
      throw new Error('The arguments are not JSON.')
    }
  }
  const entries = Object.entries(schema.properties ?? {}).flatMap(([name, property]): [string, unknown][] => {
    const value = values[name]
    if (value === undefined || value === '') return []
    return [[name, valueOf(property, value)]]
  })
  return Object.fromEntries(entries)
}

function valueOf({ type, enum: words }: Property, value: string | boolean): unknown {
  if (typeof value === 'boolean') return value
  if (words !== undefined) return words.find((word) => String(word) === value)
  return type === 'number' || type === 'integer' ? Number(value) : value
}

/** A field for each argument, or one for JSON. */
export function ArgsForm({
  definition,
  draft,
  change,
}: {
  definition: Definition
  draft: ArgsDraft
  change: (draft: ArgsDraft) => void
}): JSX.Element {
  const schema = drawable(definition)
  if (!definition.takesArgs) return <p class="muted">It takes no arguments.</p>
  const raw = draft.raw !== undefined || schema === undefined
  return (
    <>
      {raw ? (
        <label>
          Arguments as JSON
          <textarea
            rows={6}
            spellcheck={false}
            value={draft.raw ?? '{}'}
            onInput={(event) => change({ ...draft, raw: event.currentTarget.value })}
          />
        </label>
      ) : (
        Object.entries(schema.properties ?? {}).map(([name, property]) => (
          <Field
            key={name}
            name={name}
            property={property}
            required={schema.required?.includes(name) === true}
            value={draft.values[name]}
            change={(value) => change({ ...draft, values: { ...draft.values, [name]: value } })}
          />
        ))
      )}
      {schema !== undefined && (
        <button type="button" class="quiet" onClick={() => change({ ...draft, raw: raw ? undefined : '{}' })}>
          {raw ? 'Use fields' : 'Write JSON instead'}
        </button>
      )}
    </>
  )
}

function Field({
  name,
  property,
  required,
  value,
  change,
}: {
  name: string
  property: Property
  required: boolean
  value: string | boolean | undefined
  change: (value: string | boolean) => void
}): JSX.Element {
  const { type, format, enum: words, description, default: usual } = property
  const text = typeof value === 'string' ? value : ''
  const hint = description ?? (format === 'date-time' ? 'such as 2026-01-31T00:00:00Z' : (type ?? ''))
  if (type === 'boolean') {
    return (
      <label class="check">
        <input type="checkbox" checked={value === true} onChange={(event) => change(event.currentTarget.checked)} />{' '}
        {name}
      </label>
    )
  }
  return (
    <label>
      {name} <span class="muted">{required ? hint : `${hint}, optional`}</span>
      {words === undefined ? (
        <input
          value={text}
          required={required}
          type={format === 'date' ? 'date' : 'text'}
          inputMode={type === 'integer' ? 'numeric' : type === 'number' ? 'decimal' : 'text'}
          placeholder={usual === undefined ? '' : JSON.stringify(usual)}
          onInput={(event) => change(event.currentTarget.value)}
        />
      ) : (
        <select value={text} required={required} onChange={(event) => change(event.currentTarget.value)}>
          <option value="" />
          {words.map((word) => (
            <option key={String(word)} value={String(word)}>
              {String(word)}
            </option>
          ))}
        </select>
      )}
    </label>
  )
}
