import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { Icon, type IconName } from './icons.tsx'
import { setPaused, useConnection } from './live.ts'
import { base } from './router.ts'
import { useSession } from './session.ts'
import { applyTheme, storedTheme, type Theme } from './theme.ts'
import { capital, inUtc, setUtc } from './words.ts'

interface Section {
  to: string
  title: string
  key: string
  icon: IconName
}

/** The pages, in the order in which people need them. */
export const sections: readonly Section[] = [
  { to: 'operations', title: 'Operations', key: 'o', icon: 'operations' },
  { to: 'jobs', title: 'Jobs', key: 'j', icon: 'jobs' },
  { to: 'queues', title: 'Queues', key: 'q', icon: 'queues' },
  { to: 'failed', title: 'Failed', key: 'f', icon: 'failed' },
  { to: 'schedules', title: 'Schedules', key: 's', icon: 'schedules' },
  { to: 'machines', title: 'Machines', key: 'm', icon: 'machines' },
  { to: 'batches', title: 'Batches', key: 'b', icon: 'batches' },
  { to: 'workers', title: 'Workers', key: 'w', icon: 'workers' },
  { to: 'health', title: 'Health', key: 'h', icon: 'health' },
  { to: 'audit', title: 'Audit', key: 'a', icon: 'audit' },
  { to: 'about', title: 'About', key: '?', icon: 'about' },
]

export function Navigation({ current }: { current: string }): JSX.Element {
  const { environment, production, database, schema, user, role, readOnly } = useSession()
  const [open, setOpen] = useState(false)
  return (
    <div class="side">
      <div class="brand">
        <a href={`${base}/operations`} class="logo">
          <img src={`${base}/assets/icon.svg`} alt="" width="22" height="22" />
          Sluice
        </a>
        <span class={`environment ${production ? 'production' : ''}`}>{environment}</span>
        <button type="button" class="menu" aria-expanded={open} aria-controls="pages" onClick={() => setOpen(!open)}>
          <Icon name="menu" />
          <span class="visually-hidden">Menu</span>
        </button>
      </div>
      <nav id="pages" class={open ? 'open' : ''} aria-label="Pages">
        {sections.map(({ to, title, icon }) => (
          <a
            key={to}
            href={`${base}/${to}`}
            aria-current={current === to ? 'page' : undefined}
            onClick={() => setOpen(false)}
          >
            <Icon name={icon} />
            {title}
          </a>
        ))}
      </nav>
      <footer class={open ? 'open' : ''}>
        <Liveness />
        <Choices />
        <p class="whereabouts">
          <span title="Database and schema">
            {database} · {schema}
          </span>
          <span>
            {user}, {readOnly ? 'read-only' : role}
          </span>
        </p>
      </footer>
    </div>
  )
}

const explained = {
  connecting: 'Connecting …',
  live: 'Live',
  polling: 'Every few seconds',
  paused: 'Updates stopped',
  offline: 'Server does not answer',
  'signed out': 'Signed out',
} as const

function Liveness(): JSX.Element {
  const connection = useConnection()
  return (
    <div class={`liveness ${connection.replace(' ', '-')}`}>
      <span role="status">
        <i aria-hidden="true" />
        {explained[connection]}
      </span>
      <button type="button" class="quiet" onClick={() => setPaused(connection !== 'paused')}>
        {connection === 'paused' ? 'Go on' : 'Stop'}
        <span class="visually-hidden"> live updates</span>
      </button>
    </div>
  )
}

const themes: readonly Theme[] = ['system', 'light', 'dark']

function Choices(): JSX.Element {
  const [theme, setTheme] = useState(storedTheme)
  const [utc, setZone] = useState(inUtc)
  return (
    <div class="choices">
      <select
        aria-label="Theme"
        value={theme}
        onChange={(event) => {
          const next = themes.find((one) => one === event.currentTarget.value) ?? 'system'
          setTheme(next)
          applyTheme(next)
        }}
      >
        {themes.map((one) => (
          <option key={one} value={one}>
            {capital(one)}
          </option>
        ))}
      </select>
      <select
        aria-label="Time zone"
        value={utc ? 'utc' : 'local'}
        onChange={(event) => {
          setUtc(event.currentTarget.value === 'utc')
          setZone(inUtc())
        }}
      >
        <option value="local">Local time</option>
        <option value="utc">UTC</option>
      </select>
    </div>
  )
}
