import { liveJobStates } from '../../../index.ts'
import { verbCommand } from '../../jobs/verb.ts'

export const addCancel = verbCommand({
  verb: 'cancel',
  description: 'end what is not over; a handler that runs is told to stop',
  usual: liveJobStates,
  reasoned: true,
})
