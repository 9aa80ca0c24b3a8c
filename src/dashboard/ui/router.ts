import { useEffect, useState } from 'preact/hooks'

/** Where the dashboard is mounted; without a slash at its end. */
export const base = document.body.dataset['base'] ?? ''

/** Where the visitor is: a path below the base, and what the address asks for beside it. */
export interface Place {
  path: string
  query: URLSearchParams
}

const here = (): Place => {
  const { pathname, search } = window.location
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : pathname
  return { path: path === '' ? '/' : path, query: new URLSearchParams(search) }
}

const watchers = new Set<() => void>()
const tell = (): void => {
  for (const watcher of watchers) watcher()
}
window.addEventListener('popstate', tell)

/** Goes to another page; `replace`: without a step in the history, as for filters. */
export function go(to: string, { replace = false }: { replace?: boolean } = {}): void {
  window.history[replace ? 'replaceState' : 'pushState'](null, '', base + to)
  if (!replace) window.scrollTo(0, 0)
  tell()
}

/** The address with some of its filters changed; an empty one is taken out. */
export function withQuery({ path, query }: Place, changes: Record<string, string | undefined>): string {
  const next = new URLSearchParams(query)
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined || value === '') next.delete(name)
    else next.set(name, value)
  }
  const text = next.toString()
  return text === '' ? path : `${path}?${text}`
}

/** Where the visitor is, and again when that changes. */
export function usePlace(): Place {
  const [place, setPlace] = useState(here)
  useEffect(() => {
    const update = (): void => setPlace(here())
    watchers.add(update)
    return () => void watchers.delete(update)
  }, [])
  return place
}

/** Follows links of our own without loading the page again. */
export function followLinks(): void {
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || link.target !== '' || link.origin !== window.location.origin) return
    const { pathname, search } = link
    if (!`${pathname}/`.startsWith(`${base}/`) || pathname.startsWith(`${base}/api/`)) return
    event.preventDefault()
    go(pathname.slice(base.length) + search)
  })
}
