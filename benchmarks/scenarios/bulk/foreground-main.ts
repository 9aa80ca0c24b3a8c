// An application beside the work: point reads and updates at a fixed rate, timed from the moment at which each was due.
import pg from 'pg'
import type { Beat } from './foreground.ts'

const [url = '', rate = '200'] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: url, max: 16 })
const { rows: fresh } = await pool.query<{ id: string }>(
  `select id from events where created_at > now() - interval '80 days' order by id % 1009, id limit 2000`,
)

/** Half reads and half writes, half on the table that is worked on and half on another. */
const acts = [
  (i: number) => pool.query('select payload from events where id = $1', [idOf(i)]),
  (i: number) => pool.query('update events set kind = $2 where id = $1', [idOf(i), `seen ${i % 10}`]),
  (i: number) => pool.query('select balance from accounts where id = $1', [(i * 7919) % 10_000]),
  (i: number) => pool.query('update accounts set balance = balance + 1 where id = $1', [(i * 7919) % 10_000]),
]

function idOf(i: number): string {
  return fresh[(i * 613) % fresh.length]?.id ?? '0'
}

const beats: Beat[] = []
const everyMs = 1_000 / Number(rate)
const began = Date.now()
let sent = 0
const over = new AbortController()

async function act(i: number, due: number): Promise<void> {
  if (over.signal.aborted) return
  await acts[i % acts.length]?.(i)
  beats.push({ at: due, ms: Date.now() + fraction() - due })
}

/** Date.now() counts whole milliseconds. */
function fraction(): number {
  return (performance.timeOrigin + performance.now()) % 1
}

function turn(): void {
  const now = Date.now() + fraction()
  for (let due = began + sent * everyMs; due <= now; due = began + sent * everyMs) void act(sent++, due)
  if (!over.signal.aborted) setTimeout(turn, 1)
}

process.on('message', (message) => {
  if (message === 'take') process.send?.(beats.splice(0))
  else {
    over.abort()
    void pool.end().then(() => process.exit(0))
  }
})
turn()
process.send?.('ready')
