import { useEffect, useRef, useState } from 'preact/hooks'
import type { Operation } from './operation-verbs.tsx'

/** Rows per second between the last two looks, smoothed; undefined: nobody has looked twice, or it does not run. */
export function useRate({ rowsSeen, asOf, state }: Operation): number | undefined {
  const last = useRef<{ rows: number; at: number }>()
  const [rate, setRate] = useState<number>()
  useEffect(() => {
    const now = { rows: rowsSeen, at: Date.parse(asOf) }
    const before = last.current
    if (before === undefined || now.at - before.at > 1_000) last.current = now
    if (before === undefined || now.at - before.at <= 1_000) return
    const fresh = Math.max(0, ((now.rows - before.rows) * 1_000) / (now.at - before.at))
    setRate((old) => (old === undefined ? fresh : old * 0.5 + fresh * 0.5))
  }, [asOf])
  return state === 'active' || state === 'verifying' ? rate : undefined
}
