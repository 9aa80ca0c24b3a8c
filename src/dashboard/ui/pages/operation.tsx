import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { HeatMap } from '../heat-map.tsx'
import { useLive } from '../live.ts'
import { Bar, Chip, Facts, Failure, Head, Shown, When } from '../parts.tsx'
import { base } from '../router.ts'
import { count, duration, percent } from '../figures.ts'
import { capital, toneOf, words } from '../words.ts'
import { OperationCharts, samplesPath } from './operation-charts.tsx'
import { OperationTabs } from './operation-tabs.tsx'
import { OperationVerbs, type Operation } from './operation-verbs.tsx'
import { leftOf } from './operations.tsx'
import { useRate } from './rate.ts'

type Records = Answer<'operations.records'>

const back = { to: `${base}/operations`, label: 'Operations' }

export function OperationPage({ id }: { id: string }): JSX.Element {
  const live = useLive<Answer<'operations.get'>>(`/operations/${id}`)
  const records = useLive<Records>(`/operations/${id}/records`)
  return (
    <>
      {live.data === undefined && <Head back={back} title="Operation" />}
      <Shown live={live}>
        {({ operation, limits }) => (
          <Detail operation={operation} attention={limits.attention} records={records.data} />
        )}
      </Shown>
    </>
  )
}

/** The rate of the last looks; before there are two, that of the latest sample. */
function useShownRate(operation: Operation): number | undefined {
  const { state } = operation
  const { data } = useLive<Answer<'samples.operation'>>(samplesPath(operation))
  const looked = useRate(operation)
  const last = data?.samples.findLast(({ rowsSeen }) => rowsSeen > 0)
  if (looked !== undefined || data === undefined || last === undefined) return looked
  const recent = Date.parse(operation.asOf) - Date.parse(last.at) < 4 * data.everyMs
  return recent && (state === 'active' || state === 'verifying') ? (last.rowsSeen * 1_000) / data.everyMs : undefined
}

function Detail({
  operation,
  attention,
  records,
}: {
  operation: Operation
  attention: string | null
  records: Records | undefined
}): JSX.Element {
  const { name, state, progress, rowsSeen, rowsEstimate, error, hint } = operation
  const rate = useShownRate(operation)
  return (
    <>
      <Head
        back={back}
        title={
          <>
            {name} <Chip state={state} />
          </>
        }
        sentence={sentenceOf(operation, rate)}
        actions={<OperationVerbs operation={operation} />}
      />
      {attention !== null && <p class="attention">{attention}</p>}
      {hint !== null && <p class="attention quiet">{capital(hint)}</p>}
      <Failure error={error} />
      <section aria-label="Progress" class="progress">
        <Bar share={progress} tone={toneOf(state)} label={`Progress of ${name}`} />
        <p>
          <strong>{progress === undefined ? 'No estimate' : percent(progress)}</strong> {count(rowsSeen)}
          {rowsEstimate > 0 && ` of about ${count(Math.max(rowsSeen, rowsEstimate))}`} rows walked
          {operation.eta !== undefined && ` · ${leftOf(operation.eta)} left`}
        </p>
      </section>
      <OperationFacts operation={operation} rate={rate} />
      <OperationCharts operation={operation} marks={records?.transitions ?? []} />
      <section aria-labelledby="heat">
        <h2 id="heat">Batches in key order</h2>
        {records === undefined ? null : <HeatMap stretches={records.stretches} />}
      </section>
      <OperationTabs operation={operation} records={records} />
    </>
  )
}

/** One sentence of status. */
function sentenceOf(operation: Operation, rate: number | undefined): string {
  const { state, limitedBy, reason, eta, finishedAt, startedAt, rowsChanged } = operation
  const left = eta === undefined ? '' : `; ${leftOf(eta)} left`
  if (state === 'active' || state === 'verifying') {
    const speed = rate === undefined ? 'Running' : `Running at ${count(rate)} rows/s`
    return `${speed}; ${limitedBy}${left}.`
  }
  if (finishedAt !== null && startedAt !== null) {
    const took = duration(Date.parse(finishedAt) - Date.parse(startedAt))
    return `${capital(words(state))} after ${took}; ${count(rowsChanged)} rows changed${reason === null ? '' : `; ${reason}`}.`
  }
  return `${capital(words(state))}${reason === null ? '' : `: ${reason}`}${reason === limitedBy || limitedBy === '' ? '' : `; ${limitedBy}`}.`
}

function OperationFacts({ operation: o, rate }: { operation: Operation; rate: number | undefined }): JSX.Element {
  return (
    <Facts
      of={[
        ['Table', o.table],
        ['Walk', o.walk.says],
        ['Rows changed', count(o.rowsChanged)],
        ['Rate', rate === undefined ? '–' : `${count(rate)} rows/s`],
        ['Skipped', count(o.rowsSkipped)],
        ['Quarantined', count(o.rowsQuarantined)],
        ['Batches', `${count(o.batchesFinished)} done, ${o.batches.length} open`],
        ['Lanes', o.mostLanes === null ? o.lanes : `${o.lanes} of up to ${o.mostLanes}`],
        ['Pace', percent(o.pace).replace('.0', '')],
        ['Sub-batch', `${o.tunedSize === null ? '' : `${count(o.tunedSize)}, at most `}${count(o.subBatchSize)} rows`],
        ['Priority', o.priority],
        ['Window', o.window ?? 'at any time'],
        o.tenant !== null && ['Tenant', o.tenant],
        [
          'Started',
          <>
            <When at={o.startedAt ?? o.createdAt} />
            {o.actor !== null && <div class="under">by {o.actor}</div>}
          </>,
        ],
      ]}
    />
  )
}
