import 'uplot/dist/uPlot.min.css'
import './styles/colours.css'
import './styles/base.css'
import './styles/side.css'
import './styles/pages.css'
import './styles/tables.css'
import './styles/parts.css'
import './styles/charts.css'
import './styles/machines.css'
import './styles/forms.css'
import './styles/phone.css'
import { render, type JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { read, Refused } from './api.ts'
import { Dialogs } from './dialog.tsx'
import { setPaused } from './live.ts'
import { Navigation, sections } from './navigation.tsx'
import { AboutPage } from './pages/about.tsx'
import { AuditPage } from './pages/audit.tsx'
import { BatchesPage, BatchPage } from './pages/batches.tsx'
import { FailedPage } from './pages/failed.tsx'
import { HealthPage } from './pages/health.tsx'
import { JobPage } from './pages/job.tsx'
import { JobsPage } from './pages/jobs.tsx'
import { MachinesPage } from './pages/machines.tsx'
import { NewOperationPage } from './pages/new-operation.tsx'
import { OperationPage } from './pages/operation.tsx'
import { OperationsPage } from './pages/operations.tsx'
import { QueuesPage } from './pages/queues.tsx'
import { SchedulesPage } from './pages/schedules.tsx'
import { WorkersPage } from './pages/workers.tsx'
import { Head } from './parts.tsx'
import { base, followLinks, go, usePlace } from './router.ts'
import { SessionContext, type Session } from './session.ts'
import { applyTheme } from './theme.ts'

const pages: Record<string, (rest: string) => JSX.Element> = {
  '': () => <OperationsPage />,
  operations: (id) => (id === '' ? <OperationsPage /> : <OperationPage key={id} id={id} />),
  new: () => <NewOperationPage />,
  jobs: (id) => (id === '' ? <JobsPage /> : <JobPage key={id} id={id} />),
  queues: () => <QueuesPage />,
  failed: () => <FailedPage />,
  schedules: () => <SchedulesPage />,
  machines: () => <MachinesPage />,
  batches: (id) => (id === '' ? <BatchesPage /> : <BatchPage key={id} id={id} />),
  workers: () => <WorkersPage />,
  health: () => <HealthPage />,
  audit: () => <AuditPage />,
  about: () => <AboutPage />,
}

function Page({ path }: { path: string }): JSX.Element {
  const [, name = '', rest = ''] = path.split('/')
  const page = Object.hasOwn(pages, name) ? pages[name] : undefined
  return page?.(encodeURIComponent(decodeURIComponent(rest))) ?? <NoPage />
}

function NoPage(): JSX.Element {
  return (
    <>
      <Head title="There is no such page." back={{ to: `${base}/operations`, label: 'Operations' }} />
      <p>The address may be misspelt, or of another version.</p>
    </>
  )
}

function App(): JSX.Element {
  const { path } = usePlace()
  const [session, setSession] = useState<Session>()
  const [problem, setProblem] = useState<Refused>()
  useEffect(() => {
    let timer = 0
    const look = (): void => {
      read<Session>('/session').then(setSession, (error: unknown) => {
        setProblem(error instanceof Refused ? error : new Refused(0, 'FAILED', String(error)))
        timer = window.setTimeout(look, 3_000)
      })
    }
    look()
    return () => window.clearTimeout(timer)
  }, [])
  const name = path.split('/')[1] || 'operations'
  useEffect(() => {
    const title = sections.find(({ to }) => to === name)?.title ?? 'Sluice'
    document.title = session === undefined ? 'Sluice' : `${title} · Sluice ${session.environment}`
    document.querySelector<HTMLElement>('h1')?.focus({ preventScroll: true })
  }, [path, session])
  if (session === undefined) {
    return (
      <main class="gate">
        <h1>Sluice</h1>
        <p role="status">{problem?.message ?? 'Connecting …'}</p>
      </main>
    )
  }
  return (
    <SessionContext.Provider value={session}>
      <a class="skip" href="#main">
        Skip to content
      </a>
      <Navigation current={name === 'new' ? 'operations' : name} />
      <main id="main">
        <Page path={path} />
      </main>
      <Dialogs />
    </SessionContext.Provider>
  )
}

/** `g` then a letter goes to a page, `/` to the search, `p` stops the updates, `?` shows this. */
function listenForKeys(): void {
  let leading = 0
  let paused = false
  document.addEventListener('keydown', (event) => {
    const { target, key } = event
    const typing = target instanceof Element && target.closest('input, textarea, select, dialog') !== null
    if (typing || event.metaKey || event.ctrlKey || event.altKey) return
    const section = Date.now() - leading < 1_500 ? sections.find((one) => one.key === key) : undefined
    leading = key === 'g' ? Date.now() : 0
    if (section !== undefined) go(`/${section.to}`)
    else if (key === '?') go('/about')
    else if (key === 'p') {
      paused = !paused
      setPaused(paused)
    } else if (key === '/') {
      event.preventDefault()
      document.querySelector<HTMLInputElement>('.search')?.focus()
    }
  })
}

applyTheme()
followLinks()
listenForKeys()
if (window.location.pathname === base) window.history.replaceState(null, '', `${base}/`)
render(<App />, document.getElementById('app') ?? document.body)
