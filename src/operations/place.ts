import type { OperationView } from '../store/operations.ts'
import type { Target } from '../targets/target.ts'
import { landmarksOf, placeOf, type Place } from './progress.ts'

/** Where an unfinished operation is in its table, by the planner's statistics. */
export async function locate({ windows }: Pick<Target, 'windows'>, view: OperationView): Promise<Place | undefined> {
  const [column, type] = [view.cursor_columns[0], view.cursor_types[0]]
  // A second pass has been at the end before.
  if (view.finished_at !== null || view.pass > 1 || column === undefined || type === undefined) return undefined
  const histogram = await windows.shares({ table: view.table_name, column, type }, landmarksOf(view))
  return histogram && placeOf(histogram)
}
