import { peer } from '../peers.ts'
import type { JobSystem } from '../job-system.ts'

interface BullMQ {
  Queue: new (name: string, options: object) => Queue
  Worker: new (name: string, handler: () => Promise<void>, options: object) => Worker
}

interface Queue {
  add(name: string, data: object): Promise<unknown>
  addBulk(jobs: { name: string; data: object }[]): Promise<unknown>
  getJobCountByTypes(...types: string[]): Promise<number>
  close(): Promise<void>
}

interface Worker {
  on(event: 'error', listener: (error: Error) => void): void
  waitUntilReady(): Promise<unknown>
  close(force?: boolean): Promise<void>
}

interface IoRedis {
  Redis: new (url: string) => { flushall(): Promise<unknown>; quit(): Promise<unknown> }
}

export function openBullmq(url: string, options: Record<string, unknown>): JobSystem {
  const bullmq = peer('bullmq') as BullMQ
  const { hostname: host, port } = new URL(url)
  const connection = { host, port: Number(port) }
  // Done jobs are dropped, as its guide for production says.
  const queue = new bullmq.Queue('noop', { connection, defaultJobOptions: { removeOnComplete: true } })
  let worker: Worker | undefined

  return {
    hotTables: [],
    prepare: async () => {
      const { Redis } = peer('ioredis') as IoRedis
      const redis = new Redis(url)
      await redis.flushall()
      await redis.quit()
    },
    enqueueOne: () => queue.add('noop', {}),
    enqueueBulk: (jobs) => queue.addBulk(Array.from({ length: jobs }, () => ({ name: 'noop', data: {} }))),
    startWorker: async (onJobs) => {
      worker = new bullmq.Worker('noop', async () => onJobs(1), { connection, ...options })
      worker.on('error', (error) => process.stderr.write(`${error.message}\n`))
      await worker.waitUntilReady()
    },
    left: () => queue.getJobCountByTypes('waiting', 'active', 'delayed', 'prioritized', 'paused'),
    close: async () => {
      await worker?.close(true)
      await queue.close()
    },
  }
}
