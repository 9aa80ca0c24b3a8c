// In your own project this line is: import { defineOperation, raw, sql, type Batch } from 'sluice'
import { defineOperation, raw, sql, type Batch, type OperationDefinition } from '../../src/index.ts'

const children = [
  { table: 'issues', column: 'project_id' },
  { table: 'merge_requests', column: 'target_project_id' },
] as const

/** A project may have any number of children; so many of each kind go in one run, the others in the next ones. */
const atOnce = 500

interface DeletedProject {
  partition: number
  id: string
  project_id: string
}

/**
 * Deletes the children of deleted projects. It walks the records of deletions, also those that are added while it
 * runs; a record is done when it has no child left.
 */
export const cleanUpChildren: OperationDefinition<undefined> = defineOperation({
  name: 'clean-up-children',
  table: 'deleted_projects',
  cursor: ['partition', 'id'],
  scope: () => sql`status = 'pending'`,
  until: 'empty',
  subBatchSize: 10,
  async perform({ batch }) {
    let deleted = 0
    for (const project of await batch.rows<DeletedProject>()) deleted += await cleanUp(batch, project)
    return deleted
  },
})

async function cleanUp(batch: Batch, { partition, id, project_id }: DeletedProject): Promise<number> {
  const counts: number[] = []
  for (const child of children) counts.push(await deleteSome(batch, child, project_id))
  if (counts.every((count) => count < atOnce)) {
    await batch.query(sql`
      update deleted_projects set status = 'processed' where partition = ${partition} and id = ${id}`)
  }
  return counts.reduce((sum, count) => sum + count, 0)
}

async function deleteSome(
  batch: Batch,
  { table, column }: (typeof children)[number],
  projectId: string,
): Promise<number> {
  const deleted = await batch.query(sql`
    delete from ${raw(table)}
    where id = any(array(select id from ${raw(table)} where ${raw(column)} = ${projectId} limit ${atOnce}))
    returning id`)
  return deleted.length
}
