import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Chip, Spark, Table } from '../parts.tsx'
import { signalUnit } from '../signal-unit.ts'
import { words } from '../words.ts'

type Sample = Answer<'samples.signals'>['samples'][number]

const shown = 30
const number = (title: string): { title: string; class: string } => ({ title, class: 'number' })

/** The health signals that the governor goes by, each with its limits and where it stands. */
export function Signals({ samples }: { samples: readonly Sample[] }): JSX.Element {
  const groups = new Map<string, Sample[]>()
  for (const sample of samples) {
    const key = sample.table === null ? sample.signal : `${sample.signal} of ${sample.table}`
    groups.set(key, [...(groups.get(key) ?? []), sample])
  }
  return (
    <>
      <h2>Signals</h2>
      <Table
        label="Health signals"
        heads={['Signal', 'State', number('Now'), number('Slows from'), number('Stops at'), 'Last minutes']}
      >
        {[...groups].map(([name, all]) => {
          const last = all.at(-1)
          if (last === undefined) return null
          const values = all.slice(-shown).map(({ value }) => value)
          const [state, unit] = [stateOf(last), signalUnit(last.signal)]
          return (
            <tr key={name}>
              <td class="strong">{words(name)}</td>
              <td>
                <Chip
                  state={state}
                  label={state === 'ok' ? 'calm' : state === 'warning' ? 'slows work' : 'stops work'}
                />
              </td>
              <td class="number">{unit(last.value)}</td>
              <td class="number">{unit(last.soft)}</td>
              <td class="number">{unit(last.hard)}</td>
              <td>
                <Spark values={values} label={`From ${unit(Math.min(...values))} to ${unit(Math.max(...values))}`} />
              </td>
            </tr>
          )
        })}
      </Table>
    </>
  )
}

/** Where less is worse, as with free space, the hard limit is below the soft one. */
function stateOf({ value, soft, hard }: Sample): 'ok' | 'warning' | 'problem' {
  const sign = soft <= hard ? 1 : -1
  if (sign * value <= sign * soft) return 'ok'
  return sign * value >= sign * hard ? 'problem' : 'warning'
}
