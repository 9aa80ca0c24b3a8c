import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Chip, Facts, Json, Table } from '../parts.tsx'
import { bytes, count, duration } from '../figures.ts'

type Plan = Answer<'operations.planned'>['plan'] | Answer<'operations.plan'>['plan']

const titles = { carve: 'Statement that cuts batches', work: 'Statement that does the work' } as const

/** What a start would do, and what to think about first. */
export function PlanView({ plan, title = 'Plan' }: { plan: Plan; title?: string }): JSX.Element {
  const { estimate, findings, statements, dryRun } = plan
  // Without a dry run nothing is known of time and log.
  const tried = dryRun.reason !== 'it was not asked for'
  return (
    <section aria-labelledby="plan" class="plan">
      <h2 id="plan">{title}</h2>
      <Facts
        of={[
          ['Rows to walk', count(estimate.rowsToSee)],
          ['Rows to change', `about ${count(estimate.rowsToChange)}`],
          tried && [
            'Duration',
            estimate.durationMs === null
              ? 'unknown'
              : `${duration(estimate.durationMs.from)} – ${duration(estimate.durationMs.to)}`,
          ],
          tried && ['Log (WAL) written', estimate.walBytes === null ? 'unknown' : bytes(estimate.walBytes)],
          ['Table', `${plan.table}, ${bytes(estimate.tableBytes)}`],
          ['Walk', `${plan.walk.says}: ${plan.walk.why}`],
          ['Cursor', plan.cursor.join(', ')],
          ['Keys', `${plan.from?.join(', ') ?? 'first'} … ${plan.to?.join(', ') ?? 'last'}`],
          tried && [
            'Dry run',
            `${dryRun.outcome}${dryRun.reason === null ? '' : `: ${dryRun.reason}`}${dryRun.run === null ? '' : `, ${count(dryRun.run.rowsChanged)} rows in ${duration(dryRun.run.elapsedMs)}`}`,
          ],
        ]}
      />
      {plan.scope !== null && (
        <pre tabIndex={0} role="region" aria-label="Scope">
          {plan.scope}
        </pre>
      )}
      {findings.length === 0 && <p class="muted plan-calm">The checks have nothing to say against it.</p>}
      {findings.length > 0 && (
        <Table label="Findings" heads={['Finding', 'Severity', 'Why', 'What to do']}>
          {findings.map((finding) => (
            <tr key={finding.check + finding.what}>
              <td class="strong">{finding.what}</td>
              <td>
                <Chip state={finding.severity} />
              </td>
              <td class="wide">{finding.why}</td>
              <td class="wide">{finding.remedy}</td>
            </tr>
          ))}
        </Table>
      )}
      {statements.map((one) => (
        <details key={one.statement + one.text}>
          <summary>
            {titles[one.statement]}: {one.found}
            {one.indexes.some((index) => !one.found.includes(index)) && ` (${one.indexes.join(', ')})`}
          </summary>
          <pre tabIndex={0} role="region" aria-label={`Statement: ${one.statement}`}>
            {one.text}
          </pre>
          {'plan' in one && <Json value={one.plan} label={`EXPLAIN of the statement: ${one.statement}`} />}
        </details>
      ))}
      {dryRun.run !== null && dryRun.run.rows.length > 0 && (
        <details>
          <summary>First rows of the dry run</summary>
          <Json value={dryRun.run.rows.slice(0, 20)} label="Rows of the dry run" />
        </details>
      )}
    </section>
  )
}
