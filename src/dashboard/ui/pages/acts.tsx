import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { Table } from '../parts.tsx'
import { base } from '../router.ts'
import { clock, words } from '../words.ts'

type Act = Answer<'audit'>['acts'][number]

/** Acts of people, latest first; without a target where all have the same. */
export function Acts({ acts, targets = true }: { acts: readonly Act[]; targets?: boolean }): JSX.Element {
  return (
    <Table label="Acts" heads={['When', 'Who', 'From', 'Action', ...(targets ? ['On'] : []), 'Change', 'Why']}>
      {acts.map((act) => (
        <tr key={act.id}>
          <td class="nowrap">{clock(act.at)}</td>
          <td>{act.actor ?? '–'}</td>
          <td>{act.source}</td>
          <td class="strong nowrap">{act.action}</td>
          {targets && (
            <td>
              <Target act={act} />
            </td>
          )}
          <td class="wider">
            {changesOf(act.before, act.after).map((change) => (
              <div key={change}>{change}</div>
            ))}
          </td>
          <td class="wide">{act.reason ?? ''}</td>
        </tr>
      ))}
    </Table>
  )
}

/** Leads to what it was done to, where that has a page. */
function Target({ act: { action, target } }: { act: Act }): JSX.Element {
  const room = action.startsWith('operation.') ? 'operations' : /^jobs?\./.test(action) ? 'jobs' : undefined
  const exact = room === 'jobs' ? /^\d+$/.test(target) : /^[0-9a-f-]{36}$/.test(target)
  if (room === undefined || !exact) return <code>{target}</code>
  return (
    <a href={`${base}/${room}/${target}`}>
      <code class="nowrap" title={target}>
        {room === 'operations' ? `…${target.slice(-8)}` : target}
      </code>
    </a>
  )
}

const told = (value: unknown): string =>
  value === null || value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value)

/** What was changed, part by part: `status: active → pausing`. What is new has no need to tell what it has not. */
function changesOf(before: unknown, after: unknown): string[] {
  const [old, now] = [before ?? {}, after ?? {}] as Record<string, unknown>[]
  if (typeof old !== 'object' || typeof now !== 'object') return [`${told(before)} → ${told(after)}`]
  const keys = [...new Set([...Object.keys(old), ...Object.keys(now)])]
  return keys.flatMap((key) => {
    const [was, is] = [old[key] ?? null, now[key] ?? null]
    if (before !== null) return [`${words(key)}: ${told(was)} → ${told(is)}`]
    return is === null ? [] : [`${words(key)}: ${told(is)}`]
  })
}
