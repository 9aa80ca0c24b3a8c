import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Empty, Head, Shown } from '../parts.tsx'
import { count, plural } from '../words.ts'

type Machine = Answer<'machines'>['machines'][number]

const box = { width: 150, height: 46, gapX: 70, gapY: 18 }

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

/** Each state in the column of its shortest way from the first one. */
function columnsOf({ states }: Machine): string[][] {
  const depth = new Map<string, number>(states[0] === undefined ? [] : [[states[0].state, 0]])
  for (let changed = true; changed;) {
    changed = false
    for (const { state, to } of states) {
      const at = depth.get(state)
      for (const next of at === undefined ? [] : to) {
        if (depth.has(next)) continue
        depth.set(next, (at ?? 0) + 1)
        changed = true
      }
    }
  }
  const columns: string[][] = []
  for (const { state } of states) {
    const at = depth.get(state) ?? Math.max(0, ...depth.values()) + 1
    columns[at] = [...(columns[at] ?? []), state]
  }
  return [...columns].map((column) => column ?? [])
}

function Graph({ machine }: { machine: Machine }): JSX.Element {
  const columns = columnsOf(machine)
  const rows = Math.max(1, ...columns.map(({ length }) => length))
  const place = new Map(
    columns.flatMap((column, x) =>
      column.map((state, y): [string, { x: number; y: number }] => [
        state,
        { x: x * (box.width + box.gapX), y: (y + (rows - column.length) / 2) * (box.height + box.gapY) },
      ]),
    ),
  )
  const goesBack = machine.states.some(({ state, to }) =>
    to.some((next) => (place.get(next)?.x ?? 0) <= (place.get(state)?.x ?? 0)),
  )
  const size = {
    width: columns.length * (box.width + box.gapX) - box.gapX + 4,
    height: rows * (box.height + box.gapY) + (goesBack ? 34 : 0),
  }
  const told = machine.states
    .map(
      ({ state, rows: n, to }) => `${state}: ${plural(n, 'row')}${to.length > 0 ? `, goes to ${to.join(' or ')}` : ''}`,
    )
    .join('. ')
  return (
    <div class="graph" tabIndex={0} role="region" aria-label={`Graph of ${machine.name}`}>
      <svg
        width={size.width}
        height={size.height}
        viewBox={`-2 -2 ${size.width} ${size.height}`}
        role="img"
        aria-label={told}
      >
        {machine.states.flatMap(({ state, to }) =>
          to.map((next) => {
            const [a, b] = [place.get(state), place.get(next)]
            return a === undefined || b === undefined ? null : (
              <path key={`${state} ${next}`} class="edge" d={edge(a, b)} />
            )
          }),
        )}
        {machine.states.map(({ state, rows: n }) => {
          const at = place.get(state) ?? { x: 0, y: 0 }
          return (
            <g key={state} transform={`translate(${at.x} ${at.y})`} class={n > 0 ? 'node full' : 'node'}>
              <rect width={box.width} height={box.height} rx="5" />
              <text x="12" y="19">
                {state.length > 18 ? `${state.slice(0, 17)}…` : state}
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

type Point = { x: number; y: number }

function edge(a: Point, b: Point): string {
  const [from, to] = [
    { x: a.x + box.width, y: a.y + box.height / 2 },
    { x: b.x, y: b.y + box.height / 2 },
  ]
  if (b.x > a.x) {
    const middle = (from.x + to.x) / 2
    return `M${from.x} ${from.y}C${middle} ${from.y} ${middle} ${to.y} ${to.x - 2} ${to.y}m-6 -4l6 4l-6 4`
  }
  // Back, or to itself: below the boxes.
  const low = Math.max(a.y, b.y) + box.height + 14
  return `M${a.x + box.width / 2} ${a.y + box.height}C${a.x + box.width / 2} ${low + 14} ${b.x + box.width / 2} ${low + 14} ${b.x + box.width / 2} ${b.y + box.height + 2}m-4 6l4 -6l4 6`
}
