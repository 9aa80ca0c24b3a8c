import type { Command } from 'commander'
import type { JobStatus, QueueStatus } from '../../../index.ts'
import { parseJobId } from '../../jobs/id.ts'
import { jobLines, jobRecord } from '../../jobs/lines.ts'
import { withSluice, type Session } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'

export const addShow: CommandAdder = (parent, shell) => {
  parent
    .command('show')
    .argument('<id>', '', parseJobId)
    .description('what a job does now or how it ended, with each attempt that did not succeed')
    .action((id: number, _: unknown, command: Command) => show(shell, id, command.optsWithGlobals<GlobalOptions>()))
}

async function show(shell: Shell, id: number, options: GlobalOptions): Promise<void> {
  const { output } = shell
  await withSluice(shell, { options }, async ({ sluice }) => {
    const job = await sluice.jobs.get(id)
    if (output.json) return output.record({ job: jobRecord(job) })
    const around = { now: new Date(), attempts: job.attempts, queue: await queueOf(sluice, job) }
    const look = { width: output.columns, verbose: output.verbose }
    for (const line of jobLines(job, around, look)) output.data(...line)
  })
}

/** A job that waits may do so because of its queue. */
async function queueOf(sluice: Session['sluice'], { state, queue }: JobStatus): Promise<QueueStatus | undefined> {
  if (state !== 'waiting') return undefined
  return (await sluice.queues.list()).find(({ name }) => name === queue)
}
