import type { JSX } from 'preact'
import type { Answer } from '../../answers.ts'
import { useLive } from '../live.ts'
import { Empty, Head, Shown } from '../parts.tsx'
import { base, go, usePlace, withQuery } from '../router.ts'
import { Acts } from './acts.tsx'

const filters = ['actor', 'action', 'target'] as const

export function AuditPage(): JSX.Element {
  const place = usePlace()
  const asked = new URLSearchParams()
  for (const key of [...filters, 'before']) {
    const value = place.query.get(key)
    if (value !== null && value !== '') asked.set(key, value)
  }
  const exported = new URLSearchParams(asked)
  exported.delete('before')
  const live = useLive<Answer<'audit'>>(`/audit${asked.size === 0 ? '' : `?${asked.toString()}`}`)
  return (
    <>
      <Head
        title="Audit"
        sentence="Who did what, from where and why. Written with the act itself, and never changed."
        actions={
          <>
            <a class="button" href={`${base}/api/audit/export?${exported.toString()}`} download>
              Export CSV
            </a>
            <a class="button" href={`${base}/api/audit/export?${exported.toString()}&format=json`} download>
              Export JSON
            </a>
          </>
        }
      />
      <div class="filters">
        <form class="filter-fields" role="search" onSubmit={(event) => event.preventDefault()}>
          {filters.map((key, at) => (
            <input
              key={key}
              class={at === 0 ? 'search' : ''}
              aria-label={key}
              placeholder={{ actor: 'Who', action: 'Action', target: 'On what' }[key]}
              value={place.query.get(key) ?? ''}
              onChange={(event) =>
                go(withQuery(place, { [key]: event.currentTarget.value.trim(), before: undefined }), { replace: true })
              }
            />
          ))}
        </form>
      </div>
      <Shown live={live}>
        {({ acts, next }) =>
          acts.length === 0 ? (
            <Empty title={asked.size === 0 ? 'Nobody has done anything yet.' : 'Nothing fits this filter.'} />
          ) : (
            <>
              <Acts acts={acts} />
              <nav class="pages" aria-label="Pages">
                {place.query.get('before') !== null && (
                  <a href={base + withQuery(place, { before: undefined })}>Latest</a>
                )}
                {next !== null && <a href={base + withQuery(place, { before: String(next) })}>Older</a>}
              </nav>
            </>
          )
        }
      </Shown>
    </>
  )
}
