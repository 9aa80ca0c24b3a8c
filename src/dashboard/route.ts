import type { Role } from './roles.ts'
import type { Fields } from './shape.ts'

/** One route. */
export interface Route {
  readonly method: 'GET' | 'POST'
  /** Below `/api`; `:name` is a field of `params`. */
  readonly path: string
  readonly role: Role
  readonly does: string
  readonly params?: Fields
  readonly query?: Fields
  readonly body?: Fields
  /** It answers with a file instead of JSON. */
  readonly file?: 'csv or json'
  /** It costs too much to be watched. */
  readonly once?: true
}
