import { verbCommand } from '../../verb-command.ts'

export const addApprove = verbCommand('approve', 'let an operation begin that waits for approval')
