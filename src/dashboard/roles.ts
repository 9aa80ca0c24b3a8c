/** What somebody may do: look; also stop, resume and retry; also start and approve. Each may what the one before may. */
export const roles = ['viewer', 'operator', 'admin'] as const

/** What somebody may do in the dashboard. */
export type Role = (typeof roles)[number]

/** Who is there. */
export interface Visitor {
  /** Goes into the record with everything that they do. */
  user: string
  role: Role
}

/** True when a role includes another. */
export function includes(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

/** What somebody asked for takes another role than theirs. */
export class RoleMissing extends Error {
  override readonly name = 'RoleMissing'

  constructor(needed: Role, role: Role) {
    super(`This takes the role ${needed}; yours is ${role}.`)
  }
}

/** What `authorize` gave, if it is somebody. Anything else is nobody. */
export function visitorOf(given: unknown): Visitor | undefined {
  const { user, role } = (given ?? {}) as Partial<Visitor>
  if (typeof user !== 'string' || user === '' || user.length > 200) return undefined
  return roles.some((known) => known === role) ? { user, role: role as Role } : undefined
}
