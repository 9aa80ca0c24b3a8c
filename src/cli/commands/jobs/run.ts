import { verbCommand } from '../../jobs/verb.ts'

export const addRun = verbCommand({
  verb: 'run',
  description: 'let run now what is scheduled for later',
  usual: ['scheduled'],
})
