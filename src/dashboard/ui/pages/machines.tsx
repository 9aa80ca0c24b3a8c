import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { box, layoutOf } from '../machine-layout.ts'
import { Empty, Head, Shown } from '../parts.tsx'
import { count, plural } from '../figures.ts'

type Machine = Answer<'machines'>['machines'][number]

export function MachinesPage(): JSX.Element {
  const live = useLive<Answer<'machines'>>('/machines')
  return (
    <>
      <Head title="Machines" sentence="Rows that go from state to state, and how many are where." />
      <Shown live={live}>
        {({ machines }) =>
          machines.length === 0 ? (
            <Empty title="This server knows no machine.">
              <p>
                Machines are defined with <code>defineMachine</code>; start the dashboard with the configuration that
                lists them.
              </p>
            </Empty>
          ) : (
            <>
              {machines.map((machine) => (
                <section key={machine.name} aria-label={machine.name}>
                  <h2>
                    {machine.name} <span class="muted">{machine.table}</span>
                  </h2>
                  {machine.problem !== null && <p class="problem">{machine.problem}</p>}
                  <Graph machine={machine} />
                  {machine.counted !== 'exact' && (
                    <p class="muted">
                      {machine.counted === 'bounded'
                        ? 'Counted up to 10,000 rows of each state.'
                        : 'By the statistics of the table.'}
                    </p>
                  )}
                  {machine.unknown.length > 0 && (
                    <p class="attention">
                      In states that the machine does not know:{' '}
                      {machine.unknown.map(({ state, rows }) => `${state} (${count(rows)})`).join(', ')}.
                    </p>
                  )}
                </section>
              ))}
            </>
          )
        }
      </Shown>
    </>
  )
}

function Graph({ machine }: { machine: Machine }): JSX.Element {
  const { places, ways, width, height } = layoutOf(machine.states)
  const told = machine.states
    .map(
      ({ state, rows: n, to }) => `${state}: ${plural(n, 'row')}${to.length > 0 ? `, goes to ${to.join(' or ')}` : ''}`,
    )
    .join('. ')
  return (
    <div class="graph" tabIndex={0} role="region" aria-label={`Graph of ${machine.name}`}>
      <svg width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="img" aria-label={told}>
        {ways.map(({ key, path }) => (
          <path key={key} class="edge" d={path} />
        ))}
        {machine.states.map(({ state, rows: n }) => {
          const at = places.get(state) ?? { x: 0, y: 0 }
          return (
            <g key={state} transform={`translate(${at.x} ${at.y})`} class={n > 0 ? 'node full' : 'node'}>
              <rect width={box.width} height={box.height} rx="5" />
              <text x="12" y="19">
                {state.length > 16 ? `${state.slice(0, 15)}…` : state}
                <title>{state}</title>
              </text>
              <text x="12" y="36" class="node-count">
                {count(n)}
                {machine.counted === 'bounded' && n >= 10_000 ? '+' : ''}
              </text>
            </g>
          )
        })}
      </svg>
    </div>
  )
}
