import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Chip, Head, Shown, Table, When } from '../parts.tsx'
import { Signals } from './signals.tsx'
import { plural } from '../figures.ts'
import { capital } from '../words.ts'

const order = ['problem', 'warning', 'ok']

export function HealthPage(): JSX.Element {
  const live = useLive<Answer<'health'>>('/health')
  const { data: signals } = useLive<Answer<'samples.signals'>>('/samples/signals')
  const alerts = live.data?.alerts ?? []
  const grave = live.data?.findings.filter(({ level }) => level !== 'ok').length
  return (
    <>
      <Head title="Health" sentence={sentenceOf({ alerts: alerts.length, findings: grave })} />
      {alerts.length > 0 && <Alerts alerts={alerts} />}
      {signals !== undefined && signals.samples.length > 0 && <Signals samples={signals.samples} />}
      <h2>Check-up</h2>
      <Shown live={live}>
        {({ findings }) => (
          <Table label="Findings" heads={['Check', 'Level', 'Found', 'What to do']}>
            {findings
              .toSorted((a, b) => order.indexOf(a.level) - order.indexOf(b.level))
              .map((finding) => (
                <tr key={finding.check + finding.found}>
                  <td class="strong nowrap">{finding.check}</td>
                  <td>
                    <Chip state={finding.level} />
                  </td>
                  <td class="wide" colSpan={finding.remedy === undefined ? 2 : 1}>
                    {finding.found}
                  </td>
                  {finding.remedy !== undefined && <td class="wide">{finding.remedy}</td>}
                </tr>
              ))}
          </Table>
        )}
      </Shown>
    </>
  )
}

/** What is wrong, at a glance. */
function sentenceOf({ alerts, findings }: { alerts: number; findings: number | undefined }): string {
  if (findings === undefined) return 'What commonly goes wrong, and what to do about it.'
  const told = [
    ...(alerts === 0 ? [] : [plural(alerts, 'alert fires', 'alerts fire')]),
    ...(findings === 0 ? [] : [plural(findings, 'finding needs attention', 'findings need attention')]),
  ]
  return told.length === 0 ? 'Nothing needs attention.' : `${told.join('; ')}.`
}

function Alerts({ alerts }: { alerts: Answer<'health'>['alerts'] }): JSX.Element {
  return (
    <>
      <h2>Alerts</h2>
      <Table label="Alerts" heads={['About', 'Severity', 'What', 'Since']}>
        {alerts.map((alert) => (
          <tr key={alert.rule + alert.subject}>
            <td class="strong">{alert.subject}</td>
            <td>
              <Chip state={alert.severity === 'critical' ? 'problem' : 'warning'} label={alert.severity} />
            </td>
            <td class="wide">{capital(alert.message)}</td>
            <td>
              <When at={alert.since} />
            </td>
          </tr>
        ))}
      </Table>
    </>
  )
}
