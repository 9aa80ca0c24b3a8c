import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Answer } from '../../answers.ts'
import { ArgsForm, parseArgs, type ArgsDraft } from '../args-form.tsx'
import { change } from '../api.ts'
import { confirm } from '../dialog.tsx'
import { useLive } from '../live.ts'
import { Empty, Head, Shown } from '../parts.tsx'
import { base, go, usePlace, withQuery } from '../router.ts'
import { may, useSession } from '../session.ts'
import { count } from '../figures.ts'
import { PlanView } from './plan-view.tsx'

type Definition = Answer<'definitions'>['definitions'][number]
type Plan = Answer<'operations.plan'>['plan']

export function NewOperationPage(): JSX.Element {
  const live = useLive<Answer<'definitions'>>('/definitions')
  return (
    <>
      <Head
        back={{ to: `${base}/operations`, label: 'Operations' }}
        title="New operation"
        sentence="Choose what to do, look at what it would do, then start it. Nothing is changed before you confirm."
      />
      <Shown live={live}>
        {({ definitions }) =>
          definitions.length === 0 ? (
            <Empty title="This server knows no operation.">
              <p>Start the dashboard with the configuration that lists them, or mount it in your application.</p>
            </Empty>
          ) : (
            <Chooser definitions={definitions} />
          )
        }
      </Shown>
    </>
  )
}

function Chooser({ definitions }: { definitions: readonly Definition[] }): JSX.Element {
  const place = usePlace()
  const chosen = definitions.find(({ name }) => name === place.query.get('name'))
  return (
    <>
      <div class="form">
        <label>
          Operation
          <select
            value={chosen?.name ?? ''}
            onChange={(event) => go(withQuery(place, { name: event.currentTarget.value }), { replace: true })}
          >
            <option value="">Choose one …</option>
            {definitions.map(({ name, table }) => (
              <option key={name} value={name}>
                {name} on {table}
              </option>
            ))}
          </select>
        </label>
      </div>
      {chosen !== undefined && <Steps key={chosen.name} definition={chosen} />}
    </>
  )
}

function Steps({ definition }: { definition: Definition }): JSX.Element {
  const session = useSession()
  const [draft, setDraft] = useState<ArgsDraft>({ raw: undefined, values: {} })
  const [plan, setPlan] = useState<{ plan: Plan; args: unknown }>()
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  // What was planned is not what would be started any more.
  useEffect(() => setPlan(undefined), [draft])
  const look = async (): Promise<void> => {
    setBusy(true)
    setProblem('')
    try {
      const args = parseArgs(definition, draft)
      const answer = await change<'operations.plan'>('/plan', {
        name: definition.name,
        ...(args === undefined ? {} : { args }),
      })
      setPlan({ plan: answer.plan, args })
    } catch (error) {
      setProblem(error instanceof Error ? error.message : String(error))
    }
    setBusy(false)
  }
  return (
    <>
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void look()
        }}
      >
        <ArgsForm definition={definition} draft={draft} change={setDraft} />
        <div class="form-actions">
          <button
            type="submit"
            class={plan === undefined ? 'primary' : ''}
            disabled={busy || !may(session, 'operator')}
          >
            {busy ? 'Looking …' : may(session, 'admin') ? 'Plan and dry run' : 'Plan'}
          </button>
        </div>
      </form>
      {problem !== '' && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      {plan !== undefined && (
        <>
          <PlanView plan={plan.plan} />
          <Start definition={definition} plan={plan.plan} args={plan.args} />
        </>
      )}
    </>
  )
}

function Start({ definition, plan, args }: { definition: Definition; plan: Plan; args: unknown }): JSX.Element {
  const session = useSession()
  if (!may(session, 'admin'))
    return <p class="muted">To start it, and to see rows of a dry run, takes the role admin.</p>
  const { name, table, approval } = definition
  const start = (): void =>
    confirm({
      title: `Start ${name}?`,
      text: (
        <>
          About {count(plan.estimate.rowsToChange)} of about {count(plan.estimate.rowsToSee)} rows of {table} will be
          changed.
          {approval && ' It waits for approval first.'}
          {plan.refused && <strong> The checks advise against it; you start it by force.</strong>}
        </>
      ),
      verb: plan.refused ? 'Start by force' : 'Start',
      danger: true,
      ...(session.production || plan.refused ? { typed: name } : {}),
      reason: true,
      done: `Started ${name}`,
      run: async (reason) => {
        const { id } = await change<'operations.start'>('/start', {
          name,
          ...(args === undefined ? {} : { args }),
          ...(plan.refused ? { force: true } : {}),
          ...(reason === undefined ? {} : { reason }),
        })
        go(`/operations/${id}`)
      },
    })
  return (
    <div class="form-actions">
      <button type="button" class={plan.refused ? 'danger' : 'primary'} onClick={start}>
        {plan.refused ? 'Start by force …' : 'Start …'}
      </button>
    </div>
  )
}
