import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useColumns, type Column } from '../columns.tsx'
import { duration } from '../figures.ts'
import { Chip, Table, When } from '../parts.tsx'
import { base } from '../router.ts'
import { Choice, useSelection } from '../selection.tsx'
import { JobActions, MatchingActions } from './job-selection.tsx'

type Job = Answer<'jobs'>['jobs'][number]

interface TableProps {
  jobs: readonly Job[]
  /** Whether they have ended. */
  over: boolean
  /** What was asked for, where the answer has more than one page. */
  others: URLSearchParams | undefined
}

/** Jobs with what can be done to them. */
export function JobTable({ jobs, over, others }: TableProps): JSX.Element {
  const selection = useSelection(jobs.map(({ id }) => id))
  const choosing = jobs.some(({ verbs }) => verbs.length > 0)
  const { shown, picker } = useColumns('jobs', columns(over))
  const heads = [
    ...(choosing ? [{ title: 'Chosen', class: 'choice' }] : []),
    { title: 'Id', class: '' },
    ...shown.map(({ title, class: look = '' }) => ({ title, class: look === 'number' ? look : '' })),
  ]
  return (
    <>
      <div class="above-table">
        {choosing && <JobActions jobs={jobs} selection={selection} />}
        {picker}
      </div>
      {selection.all && others !== undefined && <MatchingActions jobs={jobs} asked={others} />}
      <Table label="Jobs" heads={heads}>
        {jobs.map((job) => (
          <tr key={job.id} class={choosing && selection.has(job.id) ? 'chosen' : ''}>
            {choosing && <Choice of={selection} value={job.id} label={`Choose job ${job.id}`} />}
            <td class="number-left">
              <a href={`${base}/jobs/${job.id}`}>{job.id}</a>
            </td>
            {shown.map(({ title, class: look, cell, whole }) => (
              <td key={title} class={look} title={whole?.(job)}>
                {cell(job)}
              </td>
            ))}
          </tr>
        ))}
      </Table>
    </>
  )
}

function columns(over: boolean): Column<Job>[] {
  return [
    { title: 'Job', usual: true, class: 'strong', cell: ({ name }) => name },
    {
      title: 'State',
      usual: true,
      cell: ({ state, parked }) => (
        <>
          <Chip state={state} />
          {parked && !over && <div class="under warn-text">parked</div>}
        </>
      ),
    },
    { title: 'Queue', usual: true, cell: ({ queue }) => queue },
    { title: 'Priority', usual: false, cell: ({ priority }) => priority },
    { title: 'Attempt', usual: true, class: 'number', cell: ({ attempt }) => attempt },
    { title: 'Crashes', usual: false, class: 'number', cell: ({ crashes }) => crashes },
    { title: 'Enqueued', usual: false, cell: ({ enqueuedAt }) => <When at={enqueuedAt} /> },
    {
      title: over ? 'Ended' : 'Due',
      usual: true,
      cell: ({ finishedAt, runAt, enqueuedAt }) => <When at={over ? finishedAt : (runAt ?? enqueuedAt)} />,
    },
    { title: 'Key', usual: false, class: 'clip', cell: ({ key }) => key, whole: ({ key }) => key ?? '' },
    { title: 'Tags', usual: false, cell: ({ tags }) => tags.join(', ') },
    { title: 'Args', usual: false, class: 'clip', cell: argsOf, whole: argsOf },
    { title: 'Note', usual: true, class: 'wide clip', cell: noteOf, whole: noteOf },
  ]
}

const argsOf = ({ args }: Job): string => (args === null ? '' : JSON.stringify(args))

function noteOf({ error, reason, key, tags, waitMs, runMs }: Job): string {
  if (waitMs !== null && runMs !== null) return `waited ${duration(waitMs)}, ran ${duration(runMs)}`
  if (error !== null) return `${error.name}: ${error.message}`
  return reason ?? [...(key === null ? [] : [`key ${key}`]), ...tags.map((tag) => `#${tag}`)].join(' ')
}
