import { brief, bytes, duration, percent } from './figures.ts'

const shares = (value: number): string => percent(value).replace('.0', '')
const times = (value: number): string => `${brief(value)} ×`

/** What the values of the built-in signals mean. Those of your own are shown as they are. */
const units: Record<string, (value: number) => string> = {
  subBatchTime: duration,
  replicaLag: duration,
  oldestSnapshot: duration,
  replicaBytes: bytes,
  vacuum: shares,
  slots: shares,
  deadRows: shares,
  walRate: times,
  commitTime: times,
  activeSessions: (value) => `${brief(value)}/core`,
  transactions: (value) => `${brief(value)}/s`,
  archive: (value) => `${brief(value)} files`,
}

/** The value of a signal with its unit. */
export const signalUnit = (signal: string): ((value: number) => string) => units[signal] ?? brief
