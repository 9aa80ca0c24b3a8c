import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './icons.tsx'
import type { Live } from './live.ts'
import { ago, capital, clock, toneOf, words, type Tone } from './words.ts'

const marks: Record<Tone, IconName> = {
  good: 'check',
  busy: 'play',
  wait: 'clock',
  warn: 'pause',
  bad: 'cross',
  calm: 'dash',
}

/** States whose sign says more than their tone does. */
const special: Record<string, IconName> = {
  warning: 'failed',
  warn: 'failed',
  finished_with_quarantine: 'failed',
  awaiting_approval: 'clock',
  parked: 'clock',
}

/** A state: a sign and a word, never colour alone. */
export function Chip({ state, label }: { state: string; label?: string }): JSX.Element {
  const tone = toneOf(state)
  return (
    <span class={`chip ${tone}`}>
      <Icon name={special[state] ?? marks[tone]} />
      {capital(label ?? words(state))}
    </span>
  )
}

/** A moment: how long ago, and on the clock when pointed at. */
export function When({ at }: { at: string | null | undefined }): JSX.Element {
  const [, setNow] = useState(0)
  useEffect(() => {
    const timer = window.setInterval(() => setNow(Date.now()), 5_000)
    return () => window.clearInterval(timer)
  }, [])
  if (at === null || at === undefined) return <span class="muted">–</span>
  return (
    <time dateTime={at} title={clock(at)}>
      {ago(at)}
    </time>
  )
}

export function Bar({
  share,
  tone = 'busy',
  label,
}: {
  share: number | undefined
  tone?: Tone
  label: string
}): JSX.Element {
  const now = share === undefined ? {} : { 'aria-valuenow': Math.round(share * 100) }
  return (
    <div class={`bar ${tone}`} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} {...now}>
      <span style={{ width: `${100 * (share ?? 0)}%` }} />
    </div>
  )
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{title}</p>
      {children}
    </div>
  )
}

/** What is shown of something live: its content, or why there is none. */
export function Shown<T>({ live, children }: { live: Live<T>; children: (data: T) => ComponentChildren }): JSX.Element {
  const { data, error } = live
  if (data === undefined && error === undefined) {
    return (
      <div class="loading" role="status">
        <span class="visually-hidden">Loading</span>
        <i />
        <i />
        <i />
      </div>
    )
  }
  return (
    <>
      {error !== undefined && (
        <p class="problem" role="alert">
          <Icon name="cross" /> {error.message}
          {data !== undefined && ' What you see is older.'}
        </p>
      )}
      {data !== undefined && children(data)}
    </>
  )
}

/** The head of a page: its name, what it says at a glance, and what can be done. */
export function Head({
  title,
  back,
  sentence,
  actions,
}: {
  title: ComponentChildren
  back?: { to: string; label: string }
  sentence?: ComponentChildren
  actions?: ComponentChildren
}): JSX.Element {
  return (
    <header class="head">
      <div class="head-text">
        {back !== undefined && (
          <a class="back" href={back.to}>
            <Icon name="back" /> {back.label}
          </a>
        )}
        <h1 tabIndex={-1}>{title}</h1>
        {sentence !== undefined && <p class="sentence">{sentence}</p>}
      </div>
      {actions !== undefined && <div class="actions">{actions}</div>}
    </header>
  )
}

/** Facts in pairs. */
export function Facts({ of }: { of: readonly (readonly [string, ComponentChildren] | false)[] }): JSX.Element {
  return (
    <dl class="facts">
      {of.map(
        (fact) =>
          fact !== false && (
            <div key={fact[0]}>
              <dt>{fact[0]}</dt>
              <dd>{fact[1]}</dd>
            </div>
          ),
      )}
    </dl>
  )
}

/** Any JSON as text that can be folded. */
export function Json({ value, label }: { value: unknown; label: string }): JSX.Element {
  const text = JSON.stringify(value, null, 2) ?? 'null'
  return (
    <pre class="json" tabIndex={0} role="region" aria-label={label}>
      {text}
    </pre>
  )
}

interface ShownError {
  name: string
  message: string
  code?: string | undefined
  stack?: string | undefined
}

/** An error with what it comes from, and its stack, folded. */
export function Failure({
  error,
}: {
  error: (ShownError & { causes?: ShownError[] | undefined }) | null
}): JSX.Element | null {
  if (error === null) return null
  return (
    <div class="failure">
      <p>
        <strong>{error.name}</strong>
        {error.code !== undefined && <code>{error.code}</code>} {error.message}
      </p>
      {error.causes?.map((cause) => (
        <p>
          caused by <strong>{cause.name}</strong>
          {cause.code !== undefined && <code>{cause.code}</code>} {cause.message}
        </p>
      ))}
      {error.stack !== undefined && (
        <details>
          <summary>Stack</summary>
          <pre tabIndex={0} role="region" aria-label="Stack">
            {error.stack}
          </pre>
        </details>
      )}
    </div>
  )
}

/**
 * A table. Where the screen is narrow each row becomes a card, with the heads beside the values; one with many plain
 * rows (`dense`) scrolls instead.
 */
export function Table({
  label,
  heads,
  dense = false,
  children,
}: {
  label: string
  heads: readonly (string | { title: string; class: string })[]
  dense?: boolean
  children: ComponentChildren
}): JSX.Element {
  const body = useRef<HTMLTableSectionElement>(null)
  const columns = heads.map((head) => (typeof head === 'string' ? { title: head, class: '' } : head))
  useLayoutEffect(() => {
    for (const row of body.current?.rows ?? []) {
      for (const [at, cell] of [...row.cells].entries()) cell.dataset['label'] = columns[at]?.title ?? ''
    }
  })
  return (
    <div class={dense ? 'table dense' : 'table'} tabIndex={0} role="region" aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map((head) => (
              <th key={head.title} scope="col" class={head.class}>
                {head.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>{children}</tbody>
      </table>
    </div>
  )
}

/** A small chart of a few numbers, told in words as well. */
export function Spark({ values, label }: { values: readonly number[]; label: string }): JSX.Element {
  const most = Math.max(1, ...values)
  const width = 4
  return (
    <svg
      class="spark"
      width={values.length * width}
      viewBox={`0 0 ${values.length * width} 20`}
      role="img"
      aria-label={label}
    >
      {values.map((value, at) => (
        <rect
          key={at}
          x={at * width}
          width={width - 1}
          y={20 - Math.max(value > 0 ? 2 : 0.5, (20 * value) / most)}
          height={Math.max(value > 0 ? 2 : 0.5, (20 * value) / most)}
        />
      ))}
    </svg>
  )
}
