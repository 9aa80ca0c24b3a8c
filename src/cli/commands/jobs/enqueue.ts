import { Option, type Command } from 'commander'
import { resolve } from 'node:path'
import {
  didYouMean,
  SluiceError,
  type Duration,
  type EnqueuedJob,
  type EnqueueOptions as Choices,
  type JobDefinition,
  type JobPriority,
} from '../../../index.ts'
import { sentenceOf } from '../../jobs/sentence.ts'
import { parseJson, readJson } from '../../json-option.ts'
import { parseMoment } from '../../moment-option.ts'
import { warnOfNobody } from '../../nobody.ts'
import { withSluice, type Session } from '../../session.ts'
import type { CommandAdder, GlobalOptions, Shell } from '../../shell.ts'
import { wordList } from '../../word-list.ts'

interface EnqueueOptions extends GlobalOptions {
  args?: string
  argsFile?: string
  in?: string
  at?: Date
  queue?: string
  priority?: JobPriority
  tags?: readonly string[]
}

export const addEnqueue: CommandAdder = (parent, shell) => {
  parent
    .command('enqueue <job>')
    .description('enqueue a job of the configuration file; workers do the rest')
    .addOption(new Option('--args <json>', 'its args').conflicts('argsFile'))
    .option('--args-file <file>', 'file with its args, as JSON')
    .addOption(new Option('--in <time>', 'not before so long from now, such as 30m').conflicts('at'))
    .option('--at <time>', 'not before this moment, such as 2026-01-31T09:00:00Z', parseMoment)
    .option('--queue <queue>', 'another queue than the definition says')
    .addOption(new Option('--priority <priority>', 'before or after others').choices(['high', 'normal', 'low']))
    .option('--tags <tags>', 'words to find it by, such as a,b', wordList)
    .action((job: string, _: unknown, command: Command) =>
      enqueue(shell, job, command.optsWithGlobals<EnqueueOptions>()),
    )
}

async function enqueue(shell: Shell, name: string, options: EnqueueOptions): Promise<void> {
  const args = await argsOf(shell, options)
  await withSluice(shell, { options, configFile: 'required' }, async ({ sluice, jobs }) => {
    const definition = findJob(name, jobs)
    // The types know the args of each definition; here the definition itself checks them.
    const enqueued = await sluice.jobs.enqueue(definition, args as never, choicesOf(options))
    await tell(shell, sluice, { name, ...enqueued })
  })
}

async function argsOf({ folder }: Shell, { args, argsFile }: EnqueueOptions): Promise<unknown> {
  return argsFile === undefined ? parseJson('--args', args) : readJson('--args-file', resolve(folder, argsFile))
}

function findJob(name: string, jobs: readonly JobDefinition[]): JobDefinition {
  const found = jobs.find((job) => job.name === name)
  if (found !== undefined) return found
  const names = jobs.map((job) => job.name)
  throw new SluiceError('DEFINITION_UNKNOWN', {
    message: `No job is named "${name}".${didYouMean(name, names)} List it under "jobs" in the configuration.`,
    details: { name, known: names },
  })
}

function choicesOf({ in: wait, at, queue, priority, tags }: EnqueueOptions): Choices {
  return {
    // What is no duration is refused where durations are known.
    ...(wait === undefined ? {} : { in: wait as Duration }),
    ...(at === undefined ? {} : { at }),
    ...(queue === undefined ? {} : { queue }),
    ...(priority === undefined ? {} : { priority }),
    ...(tags === undefined ? {} : { tags }),
  }
}

async function tell(
  { output }: Shell,
  sluice: Session['sluice'],
  { name, id, duplicate }: EnqueuedJob & { name: string },
): Promise<void> {
  if (output.json) return output.record({ id, duplicate })
  output.data(String(id))
  if (duplicate) return output.note(`${name} has its unique key taken by job ${id}; nothing new was enqueued.`)
  const status = await sluice.jobs.get(id)
  output.note(`${sentenceOf(status, { now: new Date() })}. See it with: sluice jobs show ${id}`)
  await warnOfNobody(output, sluice, status)
}
