import type { OperationStatus, Sluice } from '../index.ts'
import type { Output } from './output.ts'
import { silentMs } from './worker-table.ts'

/** Says that nobody works on an operation or job, and what to run: else a person waits for what cannot happen. */
export async function warnOfNobody(
  output: Output,
  sluice: Sluice,
  { name, parked }: Pick<OperationStatus, 'name' | 'parked'>,
): Promise<void> {
  if (!parked) return
  const there = (await sluice.workers()).some(({ seen_ms }) => seen_ms <= silentMs)
  output.warn(
    there
      ? `no running worker knows ${name}: it waits until one does. Start one in the folder of its configuration with: sluice worker`
      : `no worker is running: ${name} waits until one is. Start one with: sluice worker`,
  )
}
