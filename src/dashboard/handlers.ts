import type { Sluice, Who } from '../index.ts'
import type { Answers } from './answers.ts'
import type { RouteInput, RouteName } from './contract.ts'
import type { Role, Visitor } from './roles.ts'

/** What is said about this server on its pages. */
interface Surroundings {
  environment: string
  production: boolean
  readOnly: boolean
  traces: string | null
}

/** What every handler has at hand. */
export interface Desk {
  /** For looking: connections of their own, and short limits. */
  look: Sluice
  /** For acting: the one that the user gave, so that its events tell of it. */
  act: Sluice
  surroundings: Surroundings
}

/** One checked request. */
export interface Call<N extends RouteName> {
  input: RouteInput<N>
  visitor: Visitor
  desk: Desk
}

/** Answers some of the routes. */
export type Handlers<Names extends RouteName = RouteName> = {
  [N in Names]: (call: Call<N>) => Promise<Answers[N]>
}

/** The role by which pages show what can be done: where nothing can be changed, everybody only looks. */
export function shownRole({ visitor, desk }: { visitor: Visitor; desk: Desk }): Role {
  return desk.surroundings.readOnly ? 'viewer' : visitor.role
}

/** Who does it, from where and why, for the record. */
export function whoOf({ visitor, input }: { visitor: Visitor; input: { reason?: string } }): Who {
  const reason = input.reason?.trim()
  const why = reason === undefined || reason === '' ? {} : { reason }
  return { actor: visitor.user, source: 'dashboard', ...why }
}
