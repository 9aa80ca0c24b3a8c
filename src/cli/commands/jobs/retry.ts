import { verbCommand } from '../../jobs/verb.ts'

export const addRetry = verbCommand({
  verb: 'retry',
  description: 'take up again what ended without success, as if it were new',
  usual: ['dead'],
})
