import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import type { Answer } from '../../answers.ts'
import { read, type Refused } from '../api.ts'
import { useLive, type Live } from '../live.ts'
import { Chip, Empty, Failure, Json, Shown, Table, When } from '../parts.tsx'
import { go, usePlace, withQuery } from '../router.ts'
import { count } from '../figures.ts'
import { clock, words } from '../words.ts'
import { Acts } from './acts.tsx'
import { LimitsForm } from './limits-form.tsx'
import type { Operation } from './operation-verbs.tsx'
import { PlanView } from './plan-view.tsx'

type Records = Answer<'operations.records'>
type Stretch = Records['stretches'][number]

const tabs = ['failed', 'plan', 'history', 'audit', 'limits', 'arguments'] as const

/** More about an operation. */
export function OperationTabs({
  operation,
  records,
}: {
  operation: Operation
  records: Records | undefined
}): JSX.Element {
  const place = usePlace()
  const tab = tabs.find((one) => one === place.query.get('tab')) ?? 'failed'
  const titles = {
    failed: `Failed (${count(failedOf(records) + operation.rowsQuarantined)})`,
    plan: 'Plan',
    history: 'History',
    audit: 'Audit',
    limits: 'Limits',
    arguments: 'Arguments',
  }
  const content: Record<(typeof tabs)[number], ComponentChildren> = {
    failed: records === undefined ? null : <FailedParts records={records} />,
    plan: <Planned id={operation.id} />,
    history: records === undefined ? null : <History records={records} />,
    audit: <OperationAudit id={operation.id} />,
    limits: <LimitsForm operation={operation} />,
    arguments: <Json value={operation.args} label="Arguments" />,
  }
  return (
    <section>
      <div class="tabs" role="tablist" aria-label="More about this operation">
        {tabs.map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`tab-${one}`}
            aria-selected={one === tab}
            aria-controls="tab-panel"
            tabIndex={one === tab ? 0 : -1}
            onClick={() => go(withQuery(place, { tab: one }), { replace: true })}
            onKeyDown={(event) => turn(event, tab, place)}
          >
            {titles[one]}
          </button>
        ))}
      </div>
      <div id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} class="panel">
        {content[tab]}
      </div>
    </section>
  )
}

function turn(event: KeyboardEvent, tab: (typeof tabs)[number], place: ReturnType<typeof usePlace>): void {
  const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0
  if (step === 0) return
  event.preventDefault()
  const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length] ?? tab
  go(withQuery(place, { tab: next }), { replace: true })
  document.getElementById(`tab-${next}`)?.focus()
}

const failedOf = (records: Records | undefined): number =>
  (records?.stretches ?? []).reduce((sum, { failed }) => sum + failed, 0)

/** What did not work: batches that failed and rows that were isolated, each by their error. */
function FailedParts({ records }: { records: Records }): JSX.Element {
  const groups = new Map<string, { error: Stretch['error']; batches: number; last: number }>()
  for (const { failed, error, last } of records.stretches) {
    if (failed === 0) continue
    const key = `${error?.name}: ${error?.message}`
    const group = groups.get(key) ?? { error, batches: 0, last }
    groups.set(key, { error, batches: group.batches + failed, last })
  }
  if (groups.size === 0 && records.quarantine.length === 0) {
    return <Empty title="No batch has failed, and no row had to be isolated." />
  }
  return (
    <>
      {groups.size > 0 && (
        <Table label="Failed batches by error" heads={['Error', { title: 'Batches', class: 'number' }, 'Last']}>
          {[...groups].map(([key, { error, batches, last }]) => (
            <tr key={key}>
              <td class="wide">{error === null ? 'not known' : <Failure error={error} />}</td>
              <td class="number">{count(batches)}</td>
              <td>batch {count(last)}</td>
            </tr>
          ))}
        </Table>
      )}
      {records.quarantine.length > 0 && <Quarantine records={records} />}
    </>
  )
}

/** Made when somebody looks, and not again while they do: it reads rows of the table. */
function Planned({ id }: { id: string }): JSX.Element {
  const [live, setLive] = useState<Live<Answer<'operations.planned'>>>({ data: undefined, error: undefined })
  useEffect(() => {
    let there = true
    read<Answer<'operations.planned'>>(`/operations/${id}/plan`).then(
      (data) => there && setLive({ data, error: undefined }),
      (error: unknown) => there && setLive({ data: undefined, error: error as Refused }),
    )
    return () => {
      there = false
    }
  }, [id])
  return (
    <Shown live={live}>
      {({ plan, madeAt }) => (
        <>
          <p class="muted">
            What the checks of a start say about its whole range, made <When at={madeAt} />. It was made without a dry
            run, which alone tells how long it takes and how much log (WAL) it writes.
          </p>
          <PlanView plan={plan} title="What the checks say" />
        </>
      )}
    </Shown>
  )
}

function OperationAudit({ id }: { id: string }): JSX.Element {
  const live = useLive<Answer<'audit'>>(`/audit?target=${id}`)
  return (
    <Shown live={live}>
      {({ acts }) =>
        acts.length === 0 ? <Empty title="Nobody has done anything to it." /> : <Acts acts={acts} targets={false} />
      }
    </Shown>
  )
}

function Quarantine({ records: { quarantine, quarantineMore } }: { records: Records }): JSX.Element {
  return (
    <>
      <Table label="Quarantined rows by error" heads={['Error', { title: 'Rows', class: 'number' }, 'Keys', 'Last']}>
        {quarantine.map((group) => (
          <tr key={group.fingerprint}>
            <td class="wide">
              <Failure error={group.error} />
            </td>
            <td class="number">{count(group.rows)}</td>
            <td>
              <code>{group.keys.join(' · ')}</code>
              {group.ranges > group.keys.length && ' …'}
            </td>
            <td>
              <When at={group.lastAt} />
            </td>
          </tr>
        ))}
      </Table>
      {quarantineMore && <p class="muted">The first thousand ranges are shown.</p>}
    </>
  )
}

function History({ records: { transitions } }: { records: Records }): JSX.Element {
  return (
    <Table label="Changes of state" heads={['When', 'From', 'To', 'Who', 'Why']}>
      {transitions.map((one) => (
        <tr key={one.at + one.to}>
          <td class="nowrap">{clock(one.at)}</td>
          <td>{one.from === null ? '–' : words(one.from)}</td>
          <td>
            <Chip state={one.to} />
          </td>
          <td>{one.actor ?? 'Sluice'}</td>
          <td class="wide">{one.reason ?? ''}</td>
        </tr>
      ))}
    </Table>
  )
}
