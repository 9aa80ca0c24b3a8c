import { Agent, request } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

interface Answer {
  status: number
  tookMs: number
}

/** What the senders saw. */
export interface Sent {
  deliveries: number
  /** Answers that were no answer: a dead process, or "send again". */
  again: number
  /** Notifications that were answered as new more than once, which must not be. */
  newTwice: number
  p50Ms: number
  p99Ms: number
  maxMs: number
}

interface Order {
  notifications: number
  senders: number
  ports: () => number[]
}

/** A source with many senders: each notification is delivered 1 to 6 times, and each delivery repeated until taken. */
export async function sendAll({ notifications, senders, ports }: Order): Promise<Sent> {
  const agent = new Agent({ keepAlive: true, maxSockets: senders })
  const took: number[] = []
  const news = new Map<number, number>()
  let [again, next] = [0, 0]
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
      again += 1
      await sleep(20 + Math.random() * 100)
    }
  }
  await Promise.all(
    Array.from({ length: senders }, async () => {
      while (next < queue.length) {
        const nth = next++
        await deliver(queue[nth] ?? 0, nth)
      }
    }),
  )
  agent.destroy()
  const sorted = took.toSorted((a, b) => a - b)
  const at = (share: number): number =>
    Math.round((sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0) * 10) / 10
  const newTwice = [...news.values()].filter((times) => times > 1).length
  return { deliveries: queue.length, again, newTwice, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) }
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
