import type { DryRun, PlanFinding } from '../../targets/findings.ts'

/** Rows that may be read in other tables for one sub-batch without a word. */
const harmlessRows = 10_000

const count = (value: number): string => Math.round(value).toLocaleString('en-US')

/** What a dry run has shown that the catalogue cannot tell. */
export function findInDryRun({ others, updated, hot, rowsChanged }: DryRun): PlanFinding[] {
  const changed = others.filter((table) => table.inserted + table.updated + table.deleted > 0)
  const read = others.filter(({ scanned }) => scanned > Math.max(harmlessRows, 10 * rowsChanged))
  return [...findElsewhere(changed), ...read.map(readWhole), ...(updated > 0 ? [shareOfHot(updated, hot)] : [])]
}

function findElsewhere(changed: DryRun['others']): PlanFinding[] {
  if (changed.length === 0) return []
  const parts = changed.map(({ schema, name, inserted, updated, deleted }) => {
    const did = [
      [inserted, 'inserted'],
      [updated, 'updated'],
      [deleted, 'deleted'],
    ] as const
    const words = did.filter(([rows]) => rows > 0).map(([rows, verb]) => `${count(rows)} ${verb}`)
    return `${schema}.${name} ${words.join(', ')}`
  })
  return [
    {
      check: 'dry run',
      severity: 'note',
      what: `The dry run changed rows of other tables, too: ${parts.join('; ')}`,
      why: 'They are part of each sub-batch, and of its time',
      remedy: 'Make sure that this is meant',
    },
  ]
}

function readWhole({ schema, name, scanned }: DryRun['others'][number]): PlanFinding {
  return {
    check: 'other table',
    severity: 'warn',
    what: `The dry run read ${count(scanned)} rows of ${schema}.${name} by going through all of it`,
    why: 'Each sub-batch would do the same: a foreign key, a trigger or the work looks rows up there without an index',
    remedy: `Create an index on the columns of ${schema}.${name} by which they are looked up`,
  }
}

function shareOfHot(updated: number, hot: number): PlanFinding {
  const share = Math.floor((100 * hot) / updated)
  return {
    check: 'HOT',
    severity: 'note',
    what: `${count(hot)} of ${count(updated)} updates of the dry run were HOT (${share} %)`,
    why: 'The others have to be written to all indexes',
    remedy:
      share > 90
        ? 'Nothing has to be done'
        : 'Free room on the pages (a vacuum, or a lower fillfactor) lets more of them be HOT',
  }
}
