/** A state and where rows go from it. */
interface State {
  state: string
  to: readonly string[]
}

interface Point {
  x: number
  y: number
}

/** Where states and the ways between them are drawn. */
interface Layout {
  places: ReadonlyMap<string, Point>
  ways: { key: string; path: string }[]
  width: number
  height: number
}

export const box = { width: 124, height: 46, gapX: 42, gapY: 20 }
const arrow = 'm-6 -4l6 4l-6 4'
const bend = 8
/** Ways that cannot go straight have lanes of their own, above and below the boxes. */
const lane = { first: 16, next: 9 }
const room = (n: number): number => (n === 0 ? 2 : lane.first + lane.next * n)

/** The ways that lead back to where one came from; without them there is no circle. */
function backWays(states: readonly State[]): Set<string> {
  const next = new Map(states.map(({ state, to }) => [state, to]))
  const [open, done, back] = [new Set<string>(), new Set<string>(), new Set<string>()]
  const walk = (state: string): void => {
    open.add(state)
    for (const to of next.get(state) ?? []) {
      if (open.has(to)) back.add(`${state} ${to}`)
      else if (!done.has(to)) walk(to)
    }
    open.delete(state)
    done.add(state)
  }
  for (const { state } of states) if (!done.has(state)) walk(state)
  return back
}

/** Each state behind all that lead to it, in the order of what leads to it. */
function columnsOf(states: readonly State[], back: ReadonlySet<string>): string[][] {
  const depth = new Map(states.map(({ state }) => [state, 0]))
  const ahead = states.flatMap(({ state, to }) =>
    to.filter((next) => depth.has(next) && !back.has(`${state} ${next}`)).map((next) => [state, next] as const),
  )
  for (let round = 0; round < states.length; round++) {
    for (const [from, to] of ahead) depth.set(to, Math.max(depth.get(to) ?? 0, (depth.get(from) ?? 0) + 1))
  }
  const columns: string[][] = Array.from({ length: Math.max(0, ...depth.values()) + 1 }, () => [])
  for (const { state } of states) columns[depth.get(state) ?? 0]?.push(state)
  for (const [at, column] of columns.entries()) {
    const before = columns[at - 1] ?? []
    const rank = (state: string): number => {
      const from = ahead.filter(([a, b]) => b === state && before.includes(a)).map(([a]) => before.indexOf(a))
      return from.length === 0 ? before.length : from.reduce((sum, one) => sum + one, 0) / from.length
    }
    column.sort((a, b) => rank(a) - rank(b))
  }
  return columns
}

/** Straight lines with round corners. */
function rounded(points: readonly Point[]): string {
  return points
    .map(({ x, y }, at) => {
      const [before, after] = [points[at - 1], points[at + 1]]
      if (before === undefined || after === undefined) return `${at === 0 ? 'M' : 'L'}${x} ${y}`
      const toward = ({ x: a, y: b }: Point): string =>
        `${x + Math.sign(a - x) * Math.min(bend, Math.abs(a - x) / 2)} ${y + Math.sign(b - y) * Math.min(bend, Math.abs(b - y) / 2)}`
      return `L${toward(before)}Q${x} ${y} ${toward(after)}`
    })
    .join('')
}

/** From the right side of one box to the left side of another, around those between them. */
function around(a: Point, b: Point, y: number): string {
  const [out, into] = [a.x + box.width, b.x]
  const [from, to] = [a.y + box.height / 2, b.y + box.height / 2]
  const points = [
    { x: out, y: from },
    { x: out + 15, y: from },
    { x: out + 15, y },
    { x: into - 17, y },
    { x: into - 17, y: to },
    { x: into - 2, y: to },
  ]
  return rounded(points) + arrow
}

function straight(a: Point, b: Point): string {
  const [from, to] = [a.y + box.height / 2, b.y + box.height / 2]
  const [out, into] = [a.x + box.width, b.x - 2]
  const middle = (out + into) / 2
  return `M${out} ${from}C${middle} ${from} ${middle} ${to} ${into} ${to}${arrow}`
}

/** Puts the states of a machine into columns, and its ways between them. */
export function layoutOf(states: readonly State[]): Layout {
  const columns = columnsOf(states, backWays(states))
  const column = new Map(columns.flatMap((all, at) => all.map((state) => [state, at] as const)))
  const ways = states.flatMap(({ state, to }) =>
    to
      .filter((next) => column.has(next))
      .map((next) => ({ from: state, to: next, far: (column.get(next) ?? 0) - (column.get(state) ?? 0) })),
  )
  const [over, under] = [ways.filter(({ far }) => far > 1), ways.filter(({ far }) => far < 1)]
  const most = Math.max(1, ...columns.map(({ length }) => length))
  const inner = most * (box.height + box.gapY) - box.gapY
  const top = room(over.length)
  const margin = 20
  const places = new Map(
    columns.flatMap((all, x) =>
      all.map((state, y): [string, Point] => [
        state,
        { x: margin + x * (box.width + box.gapX), y: top + (y + (most - all.length) / 2) * (box.height + box.gapY) },
      ]),
    ),
  )
  const pathOf = (way: (typeof ways)[number]): string => {
    const [a = { x: 0, y: 0 }, b = { x: 0, y: 0 }] = [places.get(way.from), places.get(way.to)]
    if (way.far === 1) return straight(a, b)
    const y =
      way.far > 1
        ? top - lane.first - lane.next * over.indexOf(way)
        : top + inner + lane.first + lane.next * under.indexOf(way)
    return around(a, b, y)
  }
  return {
    places,
    ways: ways.map((way) => ({ key: `${way.from} ${way.to}`, path: pathOf(way) })),
    width: columns.length * (box.width + box.gapX) - box.gapX + 2 * margin,
    height: top + inner + room(under.length),
  }
}
