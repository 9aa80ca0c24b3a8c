import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { change, read } from '../api.ts'
import { confirm, toast } from '../dialog.tsx'
import { ChoiceBar, type Selection } from '../selection.tsx'
import { useSession } from '../session.ts'
import { plural } from '../figures.ts'
import { capital, words } from '../words.ts'

type Job = Answer<'jobs'>['jobs'][number]
type Action = 'retry' | 'run' | 'cancel' | 'discard'

const texts: Record<Action, (jobs: string) => string> = {
  run: (jobs) => `${jobs} will run now instead of later.`,
  retry: (jobs) => `${jobs} will run again as if new.`,
  cancel: (jobs) => `${jobs} will end: at once where nobody runs them, else as soon as their handlers notice.`,
  discard: (jobs) =>
    `${jobs} will be marked as discarded. They are kept with the history, and can be retried from there.`,
}

const dangerous = (action: Action): boolean => action === 'cancel' || action === 'discard'

/** What can be done to the chosen jobs; each action names how many it is for. */
export function JobActions({ jobs, selection }: { jobs: readonly Job[]; selection: Selection<number> }): JSX.Element {
  const { production } = useSession()
  const chosen = jobs.filter(({ id }) => selection.has(id))
  const ask = (action: Action, fit: readonly Job[]): void => {
    const number = plural(fit.length, 'job')
    const states = [...new Set(fit.map(({ state }) => state))]
    const left = chosen.length - fit.length
    confirm({
      title: `${capital(action)} ${number}?`,
      text: `${texts[action](number)}${left === 0 ? '' : ` ${plural(left, 'chosen job is', 'chosen jobs are')} in another state and left alone.`} It happens in the background, to those that are still ${states.map(words).join(' or ')} then.`,
      verb: `${capital(action)} ${number}`,
      danger: dangerous(action),
      ...(production ? { typed: `${action} ${fit.length}` } : {}),
      reason: true,
      done: `${capital(action)} of ${number} has begun`,
      run: async (reason) => {
        const why = reason === undefined ? {} : { reason }
        await change('/jobs/bulk', { action, ids: fit.map(({ id }) => id), expectedStates: states, ...why })
        selection.clear()
      },
    })
  }
  return (
    <ChoiceBar of={selection} noun="job">
      {(Object.keys(texts) as Action[]).map((action) => {
        const fit = chosen.filter(({ verbs }) => verbs.includes(action))
        if (fit.length === 0) return null
        return (
          <button
            key={action}
            type="button"
            class={dangerous(action) ? 'danger-quiet' : ''}
            onClick={() => ask(action, fit)}
          >
            {capital(action)} {plural(fit.length, 'job')}
          </button>
        )
      })}
    </ChoiceBar>
  )
}

/** What can be done to all jobs that match, also on the other pages. They are counted before a person is asked. */
export function MatchingActions({ jobs, asked }: { jobs: readonly Job[]; asked: URLSearchParams }): JSX.Element | null {
  const { production } = useSession()
  const actions = (Object.keys(texts) as Action[]).filter((action) => jobs.every(({ verbs }) => verbs.includes(action)))
  if (actions.length === 0) return null
  const ask = async (action: Action): Promise<void> => {
    const { jobs: counted, more } = await read<Answer<'jobs.count'>>(`/jobs/count?${asked.toString()}`)
    const number = `${more ? 'more than ' : ''}${plural(counted, 'job')}`
    confirm({
      title: `${capital(action)} all that match, ${number}?`,
      text: `${texts[action](capital(number))} It happens in the background, to those that match when their turn comes; what is enqueued after it has begun is left alone.`,
      verb: `${capital(action)} ${number}`,
      danger: dangerous(action),
      ...(production ? { typed: `${action} all` } : {}),
      reason: true,
      done: `${capital(action)} of ${number} has begun`,
      run: (reason) => {
        const { states = '', ...filter } = Object.fromEntries(asked)
        return change('/jobs/bulk/matching', { action, ...filter, states: states.split(','), reason })
      },
    })
  }
  return (
    <div class="choice-bar">
      <span class="muted">There are more on other pages.</span>
      <span class="actions">
        {actions.map((action) => (
          <button
            key={action}
            type="button"
            class={dangerous(action) ? 'danger-quiet' : ''}
            onClick={() => void ask(action).catch((error: Error) => toast(error.message))}
          >
            {capital(action)} all that match
          </button>
        ))}
      </span>
    </div>
  )
}
