import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { Answer } from '../answers.ts'

/** Who looks, and at what. */
export type Session = Answer<'session'>

export const SessionContext = createContext<Session | undefined>(undefined)

/** Who looks; the pages are not drawn before that is known. */
export function useSession(): Session {
  const session = useContext(SessionContext)
  if (session === undefined) throw new Error('no session yet')
  return session
}

const order = ['viewer', 'operator', 'admin']

/** Whether the visitor may act; the server decides once more. */
export function may({ role, readOnly }: Session, needed: 'operator' | 'admin'): boolean {
  return !readOnly && order.indexOf(role) >= order.indexOf(needed)
}
