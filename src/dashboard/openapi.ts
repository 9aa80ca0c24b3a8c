import { version } from '../index.ts'
import { contract, type Route, type RouteName } from './contract.ts'
import { intentHeader } from './guard.ts'
import { answers } from './schemas/index.ts'
import type { Field, Fields } from './shape.ts'

/** The contract as an OpenAPI document. */
export function openApi(base: string): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const [name, route] of Object.entries(contract as Record<RouteName, Route>)) {
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(name as RouteName, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'Sluice dashboard', version, description: 'What the pages of the dashboard ask their server for.' },
    servers: [{ url: `${base}/api` }],
    paths,
    components: {
      schemas: {
        Problem: {
          type: 'object',
          required: ['error'],
          properties: {
            error: {
              type: 'object',
              required: ['code', 'message'],
              properties: { code: { type: 'string' }, message: { type: 'string' } },
            },
          },
        },
      },
    },
  }
}

function operationOf(
  name: RouteName,
  { does, role, method, params, query, body, file }: Route,
): Record<string, unknown> {
  const problem = {
    description: 'Refused.',
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Problem' } } },
  }
  const statuses =
    method === 'POST' ? ['400', '401', '403', '404', '409', '415', '429'] : ['400', '401', '403', '404', '429']
  const intent = { name: intentHeader, in: 'header', required: true, schema: { type: 'string' } }
  return {
    operationId: name,
    summary: does,
    description: `Role: ${role}.`,
    'x-role': role,
    parameters: [
      ...parametersOf('path', params),
      ...parametersOf('query', query),
      ...(method === 'POST' ? [intent] : []),
    ],
    ...(method === 'POST'
      ? { requestBody: { required: true, content: { 'application/json': { schema: objectOf(body ?? {}) } } } }
      : {}),
    responses: {
      200: {
        description: 'Done.',
        content: file === undefined ? answerOf(name) : { 'text/csv': {}, 'application/x-ndjson': {} },
      },
      ...Object.fromEntries(statuses.map((status) => [status, problem])),
    },
  }
}

function answerOf(name: RouteName): object {
  return name in answers ? { 'application/json': { schema: answers[name as keyof typeof answers].json } } : {}
}

function parametersOf(place: 'path' | 'query', fields: Fields = {}): object[] {
  return Object.entries(fields).map(([name, field]) => ({
    name,
    in: place,
    required: field.required === true,
    ...(field.description === undefined ? {} : { description: field.description }),
    schema: schemaOf(field),
    ...(field.type === 'array' ? { style: 'form', explode: false } : {}),
  }))
}

function objectOf(fields: Fields): object {
  const required = Object.keys(fields).filter((name) => fields[name]?.required === true)
  const properties = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, schemaOf(field)]))
  return { type: 'object', additionalProperties: false, properties, ...(required.length > 0 ? { required } : {}) }
}

function schemaOf(field: Field): object {
  const { required: _required, description: _description, ...schema } = field
  if (schema.type === 'json') return {}
  return schema.type === 'array' ? { ...schema, items: schemaOf(schema.items) } : schema
}
