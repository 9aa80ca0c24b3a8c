// The thread that extends leases; see leases.ts. It does nothing else, for as many instances of Sluice as there are.
import { parentPort } from 'node:worker_threads'
import type { RenewalLine } from './renewal-thread.ts'
import { Renewer } from './renewer.ts'

parentPort?.on('message', ({ order, port }: RenewalLine) => {
  const ended = new Renewer(order, port).run()
  // An error that is not one of the database is a mistake in here: the thread dies of it, and all are told.
  void ended.then(() => port.close())
})
