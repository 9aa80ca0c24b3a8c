/**
 * The contract between the dashboard's pages and its server: for each route the method, the role that it takes, what
 * it is given and what it answers. The server registers its routes from this table, checks roles and input by it, and
 * makes the OpenAPI document of it; the pages know nothing else. What is not here does not exist.
 */
import { jobs } from './contract/jobs.ts'
import { operations } from './contract/operations.ts'
import { place } from './contract/place.ts'
import type { InputOf } from './shape.ts'

export type { Route } from './route.ts'

/** The whole table. */
export const contract = { ...operations, ...jobs, ...place } as const

/** The name of a route. */
export type RouteName = keyof typeof contract

type FieldsOf<R, Part extends string> = R extends { readonly [K in Part]: infer F } ? InputOf<F> : unknown

/** What a route is given, checked: its params, query and body in one. */
export type RouteInput<N extends RouteName> = FieldsOf<(typeof contract)[N], 'params'> &
  FieldsOf<(typeof contract)[N], 'query'> &
  FieldsOf<(typeof contract)[N], 'body'>
