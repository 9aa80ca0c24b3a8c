import { verbCommand } from '../../jobs/verb.ts'

export const addDiscard = verbCommand({
  verb: 'discard',
  description: 'end what does not run yet, as one that has become pointless',
  usual: ['waiting', 'scheduled', 'blocked'],
  possible: ['waiting', 'scheduled', 'blocked'],
  reasoned: true,
})
