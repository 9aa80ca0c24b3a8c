import { verbCommand } from '../../verb-command.ts'

export const addPause = verbCommand('pause', 'stop an operation after its current sub-batches, until it is resumed')
