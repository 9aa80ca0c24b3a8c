import { csvHead, csvLine, type AuditRow, type Duration } from '../../index.ts'
import type { Handlers } from '../handlers.ts'

/** No chart looks back further. */
const spans: Record<string, { within: Duration; everyMs: number }> = {
  '30m': { within: '30m', everyMs: 10_000 },
  '6h': { within: '6h', everyMs: 60_000 },
  '7d': { within: '7d', everyMs: 3_600_000 },
}
const usual = { within: '30m', everyMs: 10_000 } as const

const spanOf = (within: string | undefined): { within: Duration; everyMs: number } => spans[within ?? '30m'] ?? usual

/** So many acts go out in one piece. */
const perPiece = 200

async function* exported(acts: AsyncIterable<AuditRow>, format: 'csv' | 'json'): AsyncGenerator<string> {
  let lines = format === 'csv' ? [csvHead] : []
  for await (const act of acts) {
    lines.push(format === 'csv' ? csvLine(act) : JSON.stringify(act))
    if (lines.length < perPiece) continue
    yield `${lines.join('\n')}\n`
    lines = []
  }
  if (lines.length > 0) yield `${lines.join('\n')}\n`
}

export const samples: Handlers<'samples.operation' | 'samples.queues' | 'samples.signals' | 'audit' | 'audit.export'> =
  {
    async 'samples.operation'({ input: { id, within }, desk }) {
      const span = spanOf(within)
      const found = await desk.look.samples.operations({ id, within: span.within })
      return { samples: found.map(({ operationId: _id, name: _name, ...rest }) => rest), everyMs: span.everyMs }
    },
    async 'samples.queues'({ input: { queue, within }, desk }) {
      const span = spanOf(within)
      const which = queue === undefined ? {} : { queue }
      return { samples: await desk.look.samples.queues({ ...which, within: span.within }), everyMs: span.everyMs }
    },
    async 'samples.signals'({ input: { within }, desk }) {
      const span = spanOf(within)
      return { samples: await desk.look.samples.signals({ within: span.within }), everyMs: span.everyMs }
    },
    async 'audit.export'({ input: { format = 'csv', ...query }, desk }) {
      const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
      const name = `audit.${format === 'csv' ? 'csv' : 'ndjson'}`
      return { name, type, pieces: exported(desk.look.audit.all(query), format) }
    },
    async audit({ input, desk }) {
      return desk.look.audit.list({ ...input, limit: input.limit ?? 50 })
    },
  }
