import { duration } from './figures.ts'

/** How long ago, or in how long. */
export function ago(iso: string | null | undefined, now: number = Date.now()): string {
  if (iso === null || iso === undefined) return '–'
  const ms = now - Date.parse(iso)
  if (Math.abs(ms) < 2_000) return 'now'
  return ms > 0 ? `${duration(ms)} ago` : `in ${duration(-ms)}`
}

let utc = localStorage.getItem('sluice-zone') === 'utc'
export const inUtc = (): boolean => utc
export function setUtc(on: boolean): void {
  utc = on
  localStorage.setItem('sluice-zone', on ? 'utc' : 'local')
}

/** A moment on a clock. */
export function clock(iso: string, { seconds = true }: { seconds?: boolean } = {}): string {
  const zone = utc ? { timeZone: 'UTC' } : {}
  const day = new Date(iso).toLocaleDateString('en-CA', zone)
  const today = new Date().toLocaleDateString('en-CA', zone)
  const time = new Date(iso).toLocaleTimeString('en-GB', {
    ...zone,
    hour: '2-digit',
    minute: '2-digit',
    ...(seconds ? { second: '2-digit' } : {}),
  })
  return `${day === today ? '' : `${day} `}${time}${utc ? ' UTC' : ''}`
}

/** A moment for the axis of a chart: the time of day, or the day where a chart goes over several. */
export function axisClock(seconds: number, { days, fine }: { days: boolean; fine: boolean }): string {
  const zone = utc ? { timeZone: 'UTC' } : {}
  const at = new Date(seconds * 1_000)
  if (days) return at.toLocaleDateString('en-GB', { ...zone, day: 'numeric', month: 'short' })
  const exact = fine ? ({ second: '2-digit' } as const) : {}
  return at.toLocaleTimeString('en-GB', { ...zone, hour: '2-digit', minute: '2-digit', ...exact })
}

/** A moment on the clocks of another zone, with its day: Tue 17 Nov, 03:00. */
export function clockIn(iso: string, zone: string): string {
  const day = { weekday: 'short', day: 'numeric', month: 'short' } as const
  try {
    const year = Math.abs(Date.parse(iso) - Date.now()) > 300 * 86_400_000 ? ({ year: 'numeric' } as const) : {}
    return new Date(iso).toLocaleString('en-GB', {
      ...day,
      ...year,
      hour: '2-digit',
      minute: '2-digit',
      timeZone: zone,
    })
  } catch {
    // A zone that the database knows and this browser does not.
    return clock(iso)
  }
}

/** Any state as words. */
export const words = (state: string): string =>
  state.replaceAll('_', ' ').replace(/([a-z])([A-Z])/g, (_, a: string, b: string) => `${a} ${b.toLowerCase()}`)
export const capital = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1)

/** What a state means at a glance. */
export type Tone = 'good' | 'busy' | 'wait' | 'warn' | 'bad' | 'calm'

const tones: Record<string, Tone> = {
  active: 'busy',
  verifying: 'busy',
  running: 'busy',
  sealed: 'busy',
  open: 'wait',
  queued: 'wait',
  waiting: 'wait',
  scheduled: 'wait',
  blocked: 'wait',
  awaiting_approval: 'warn',
  held: 'warn',
  pausing: 'warn',
  paused: 'warn',
  disabled: 'warn',
  draining: 'warn',
  cancelling: 'warn',
  warning: 'warn',
  warn: 'warn',
  finished_with_quarantine: 'warn',
  parked: 'warn',
  skipped: 'calm',
  finished: 'good',
  succeeded: 'good',
  started: 'good',
  enabled: 'good',
  ok: 'good',
  failed: 'bad',
  dead: 'bad',
  quarantined: 'bad',
  problem: 'bad',
  refuse: 'bad',
}

export const toneOf = (state: string): Tone => tones[state] ?? 'calm'
