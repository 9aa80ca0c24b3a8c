import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

interface Answer {
  status: number
  tookMs: number
}

/** What the senders saw. */
export interface Sent {
  deliveries: number
  perSecond: number
  /** Attempts without any answer, because the process was dead or died; their time is in none of the figures. */
  unanswered: number
  /** Answers that said "send again". */
  refused: number
  /** Notifications that were answered as new more than once, which must not be. */
  newTwice: number
  p50Ms: number
  p99Ms: number
  p999Ms: number
  maxMs: number
}

interface Order {
  notifications: number
  /** How many deliveries may be under way at once. */
  senders: number
  /** Deliveries per second, at random moments, whatever the answers do. Without it each sender waits for its answer. */
  rate?: number | undefined
  ports: () => number[]
}

/** A source with many senders: each notification is delivered 1 to 6 times, and each delivery repeated until taken. */
export async function sendAll({ notifications, senders, rate, ports }: Order): Promise<Sent> {
  const agent = new Agent({ keepAlive: true, maxSockets: senders })
  const took: number[] = []
  const news = new Map<number, number>()
  let [unanswered, refused] = [0, 0]
  const queue = deliveries(notifications)
  const deliver = async (n: number, nth: number): Promise<void> => {
    for (let attempt = 0; ; attempt++) {
      const port = ports()[(nth + attempt) % ports().length] ?? 0
      const answer = await post(agent, port, body(n)).catch(() => undefined)
      if (answer !== undefined && answer.status < 300) {
        took.push(answer.tookMs)
        if (answer.status === 202) news.set(n, (news.get(n) ?? 0) + 1)
        return
      }
      if (answer === undefined) unanswered += 1
      else refused += 1
      await sleep(20 + Math.random() * 100)
    }
  }
  const began = performance.now()
  await (rate === undefined ? asFastAsAnswered(queue, senders, deliver) : atRate(queue, rate, deliver))
  const perSecond = Math.round(queue.length / ((performance.now() - began) / 1_000))
  agent.destroy()
  const sorted = took.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10
  const newTwice = [...news.values()].filter((times) => times > 1).length
  const times = { p50Ms: at(0.5), p99Ms: at(0.99), p999Ms: at(0.999), maxMs: at(1) }
  return { deliveries: queue.length, perSecond, unanswered, refused, newTwice, ...times }
}

type Deliver = (n: number, nth: number) => Promise<void>

async function asFastAsAnswered(queue: readonly number[], senders: number, deliver: Deliver): Promise<void> {
  let next = 0
  await Promise.all(
    Array.from({ length: senders }, async () => {
      while (next < queue.length) {
        const nth = next++
        await deliver(queue[nth] ?? 0, nth)
      }
    }),
  )
}

/** Nobody waits for an answer before the next delivery: a slow answer does not make the source slower. */
async function atRate(queue: readonly number[], rate: number, deliver: Deliver): Promise<void> {
  const began = performance.now()
  const under: Promise<void>[] = []
  let due = 0
  for (const [nth, n] of queue.entries()) {
    due += (-Math.log(1 - Math.random()) * 1_000) / rate
    const waitMs = due - (performance.now() - began)
    if (waitMs > 0) await sleep(waitMs)
    under.push(deliver(n, nth))
  }
  await Promise.all(under)
}

/** 1 to 6 of each, most of them at the same moment as the first, the others any time later. */
function deliveries(notifications: number): number[] {
  const at: [number, number][] = []
  for (let n = 0; n < notifications; n++) {
    const times = 1 + (n % 6)
    for (let i = 0; i < times; i++) at.push([i % 3 === 2 ? n + Math.random() * notifications : n, n])
  }
  return at.toSorted(([a], [b]) => a - b).map(([, n]) => n)
}

const body = (n: number): string =>
  JSON.stringify({ transactionId: `t${n % 997}`, uuid: `u${n}`, type: 'DID_RENEW', filling: 'x'.repeat(1_000) })

async function post(agent: Agent, port: number, text: string): Promise<Answer> {
  const began = performance.now()
  return new Promise((resolve, reject) => {
    const sending = request({ host: '127.0.0.1', port, method: 'POST', agent, timeout: 15_000 }, (response) => {
      response.resume()
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, tookMs: performance.now() - began }))
    })
    sending.on('timeout', () => sending.destroy(new Error('no answer')))
    sending.on('error', reject)
    sending.end(text)
  })
}
