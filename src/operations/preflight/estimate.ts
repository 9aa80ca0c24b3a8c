import type { DryRun, Prospect } from '../../targets/findings.ts'

/** What an operation is about to do, in numbers. All of them are estimates. */
export interface Estimate {
  /** Rows that it meets. */
  rowsToSee: number
  /** Rows in scope. */
  rowsToChange: number
  /** Where the number of rows in scope is from. */
  by: 'samples' | 'planner'
  /** Rows that were looked at for it, and those of them in scope. */
  sampled: { windows: number; rows: number; matched: number }
  batches: number
  /** What the table takes on disk, and the part of it that the rows in scope take. */
  tableBytes: number
  bytesToChange: number
  /** Bytes of log; null without a dry run that changed rows. */
  walBytes: number | null
  /** At full pace; null without a dry run that changed rows. */
  durationMs: { from: number; to: number } | null
}

/** One transaction more or less per sub-batch: what the claim, the checkpoint and the commit take. */
const transactionMs = 4
/** Caches that are warm, or cold, and a database that has other things to do. */
const [fastest, slowest] = [0.7, 3]

/** Puts numbers to what samples and a dry run have shown. */
export function estimate(
  { windows, complete, see, expected, tableBytes }: Prospect,
  sizes: { batchSize: number; subBatchSize: number; lanes: number },
  dryRun: DryRun | undefined,
): Estimate {
  const rows = windows.reduce((sum, window) => sum + window.rows, 0)
  const matched = windows.reduce((sum, window) => sum + window.matched, 0)
  const rowsToSee = complete ? rows : Math.max(see, rows)
  const by = complete || matched > 0 ? 'samples' : 'planner'
  const rowsToChange = by === 'planner' ? Math.min(expected, rowsToSee) : share(rowsToSee * matched, rows)
  const batches = Math.ceil(rowsToSee / sizes.batchSize)
  const bytesToChange = share(tableBytes * Math.min(rowsToSee, rowsToChange), rowsToSee)
  const measured = dryRun !== undefined && dryRun.rowsChanged > 0 ? dryRun : undefined
  const walBytes = measured && Math.round((measured.walBytes / measured.rowsChanged) * rowsToChange)
  const lookMs = rows === 0 ? 0 : windows.reduce((sum, window) => sum + window.elapsedMs, 0) / rows
  return {
    rowsToSee,
    rowsToChange,
    by,
    sampled: { windows: windows.length, rows, matched },
    batches,
    tableBytes,
    bytesToChange,
    walBytes: walBytes ?? null,
    durationMs: durationOf({ rowsToSee, rowsToChange, lookMs }, sizes, measured),
  }
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : Math.round(part / whole)
}

/** Rows are looked at and changed; the rates of both are known, and so is what a transaction takes beside that. */
function durationOf(
  { rowsToSee, rowsToChange, lookMs }: { rowsToSee: number; rowsToChange: number; lookMs: number },
  { subBatchSize, lanes }: { subBatchSize: number; lanes: number },
  dryRun: DryRun | undefined,
): Estimate['durationMs'] {
  if (dryRun === undefined) return null
  const changing = (dryRun.elapsedMs / dryRun.rowsChanged) * rowsToChange
  const total = lookMs * rowsToSee + changing + transactionMs * Math.ceil(rowsToSee / subBatchSize)
  return { from: Math.round((total * fastest) / lanes), to: Math.round(total * slowest) }
}
