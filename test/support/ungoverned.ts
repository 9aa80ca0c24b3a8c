import type { BatchGovernor } from '../../src/governor/governor.ts'

/** A governor that lets everything pass, for tests that run single steps. */
export const ungoverned: BatchGovernor & { keepsOut(): Promise<boolean> } = {
  load: 0,
  mustHold: async () => false,
  keepsOut: async () => false,
  rest: async () => undefined,
  end: () => undefined,
}
