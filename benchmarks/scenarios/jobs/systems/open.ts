import type { JobSystem, Setup } from '../job-system.ts'

/** Loads only what one system needs: the others may not even run on this Node. */
export async function openSystem({ configuration: { system, options }, url }: Setup): Promise<JobSystem> {
  switch (system) {
    case 'graphile':
      return (await import('./graphile.ts')).openGraphile(url, options)
    case 'pg-boss':
      return (await import('./pg-boss.ts')).openPgBoss(url, options)
    case 'bullmq':
      return (await import('./bullmq.ts')).openBullmq(url, options)
    case 'sluice':
      return (await import('./sluice.ts')).openSluice(url, options)
    case 'insert':
      return (await import('./insert.ts')).openInsert(url, options)
  }
}
