import { verbCommand } from '../../verb-command.ts'

export const addResume = verbCommand('resume', 'let a paused or held operation go on where it stands')
