import { verbCommand } from '../../verb-command.ts'

export const addRetry = verbCommand('retry', 'take up what is left: quarantined rows, and what failed')
