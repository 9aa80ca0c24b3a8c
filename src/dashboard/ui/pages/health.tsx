import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Chip, Head, Shown, Table } from '../parts.tsx'
import { Signals } from './signals.tsx'
import { plural } from '../words.ts'

const order = ['problem', 'warning', 'ok']

export function HealthPage(): JSX.Element {
  const live = useLive<Answer<'health'>>('/health')
  const { data: signals } = useLive<Answer<'samples.signals'>>('/samples/signals')
  const grave = live.data?.findings.filter(({ level }) => level !== 'ok').length
  return (
    <>
      <Head
        title="Health"
        sentence={
          grave === undefined
            ? 'What commonly goes wrong, and what to do about it.'
            : grave === 0
              ? 'Nothing needs attention.'
              : `${plural(grave, 'finding needs', 'findings need')} attention.`
        }
      />
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
                  <td class="wide">{finding.found}</td>
                  <td class="wide">{finding.remedy ?? ''}</td>
                </tr>
              ))}
          </Table>
        )}
      </Shown>
    </>
  )
}
