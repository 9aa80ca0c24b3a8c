import type { Probe } from '../probe.ts'
import { activeSessions } from './active-sessions.ts'
import { archive } from './archive.ts'
import { checkpoints } from './checkpoints.ts'
import { commitTime } from './commit-time.ts'
import { deadRows } from './dead-rows.ts'
import { lockWaits } from './lock-waits.ts'
import { oldestSnapshot } from './oldest-snapshot.ts'
import { replicaBytes } from './replica-bytes.ts'
import { replicaLag } from './replica-lag.ts'
import { slots } from './slots.ts'
import { transactions } from './transactions.ts'
import { vacuum } from './vacuum.ts'
import { walRate } from './wal-rate.ts'

/** All probes of the server, those that matter most first. */
export const serverProbes: readonly Probe[] = [
  lockWaits,
  replicaLag,
  replicaBytes,
  slots,
  archive,
  activeSessions,
  transactions,
  commitTime,
  walRate,
  checkpoints,
  oldestSnapshot,
  deadRows,
  vacuum,
]
