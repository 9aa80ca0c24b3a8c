import { verbCommand } from '../../jobs/verb.ts'

export const addDiscard = verbCommand({
  verb: 'discard',
  description: 'end jobs that have not started, or mark dead ones, as no longer needed',
  usual: ['waiting', 'scheduled', 'blocked'],
  reasoned: true,
})
