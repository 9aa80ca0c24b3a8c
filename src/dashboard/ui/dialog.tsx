import type { ComponentChildren, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Refused } from './api.ts'
import { refresh } from './live.ts'

/** What a person is asked before something happens. */
export interface Question {
  title: string
  /** What will happen, with numbers. */
  text: ComponentChildren
  /** On the button. */
  verb: string
  danger?: boolean
  /** Has to be typed where that is asked for. */
  typed?: string | undefined
  /** Whether a reason is asked for. */
  reason?: boolean
  /** What it says afterwards. */
  done: string
  run: (reason: string | undefined) => Promise<unknown>
}

let ask: (question: Question) => void = () => undefined
let say: (text: string) => void = () => undefined

/** Asks, and does it when the answer is yes. */
export function confirm(question: Question): void {
  ask(question)
}

/** Tells in a corner, and to who listens instead of looking. */
export function toast(text: string): void {
  say(text)
}

/** The one dialog and the one corner for messages. */
export function Dialogs(): JSX.Element {
  const [question, setQuestion] = useState<Question>()
  const [message, setMessage] = useState('')
  useEffect(() => {
    let timer = 0
    ask = setQuestion
    say = (text) => {
      window.clearTimeout(timer)
      setMessage(text)
      timer = window.setTimeout(() => setMessage(''), 8_000)
    }
    return () => window.clearTimeout(timer)
  }, [])
  return (
    <>
      {question !== undefined && <Ask question={question} close={() => setQuestion(undefined)} />}
      <div class={`toast ${message === '' ? '' : 'shown'}`} role="status" aria-live="polite">
        {message}
      </div>
    </>
  )
}

function Ask({ question, close }: { question: Question; close: () => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null)
  const [typed, setTyped] = useState('')
  const [reason, setReason] = useState('')
  const [problem, setProblem] = useState('')
  const [busy, setBusy] = useState(false)
  // The browser gives the focus back to where it was when a modal dialog closes.
  useEffect(() => dialog.current?.showModal(), [])
  const run = async (): Promise<void> => {
    setBusy(true)
    try {
      await question.run(reason.trim() === '' ? undefined : reason.trim())
      dialog.current?.close()
      toast(question.done)
    } catch (error) {
      setProblem(error instanceof Refused || error instanceof Error ? error.message : String(error))
    }
    setBusy(false)
    await refresh()
  }
  const unlocked = question.typed === undefined || typed === question.typed
  return (
    <dialog ref={dialog} onClose={close} aria-labelledby="question">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          if (unlocked && !busy) void run()
        }}
      >
        <h2 id="question">{question.title}</h2>
        <div class="question-text">{question.text}</div>
        {question.typed !== undefined && (
          <label>
            <span>
              Type <strong>{question.typed}</strong> to confirm
            </span>
            <input
              value={typed}
              onInput={(event) => setTyped(event.currentTarget.value)}
              autocomplete="off"
              spellcheck={false}
            />
          </label>
        )}
        {question.reason === true && (
          <label>
            <span>
              Reason <span class="muted">(kept for those who look later)</span>
            </span>
            <input value={reason} maxLength={500} onInput={(event) => setReason(event.currentTarget.value)} />
          </label>
        )}
        {problem !== '' && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" onClick={() => dialog.current?.close()}>
            {problem === '' ? 'Leave it' : 'Close'}
          </button>
          <button type="submit" class={question.danger === true ? 'danger' : 'primary'} disabled={!unlocked || busy}>
            {question.verb}
          </button>
        </div>
      </form>
    </dialog>
  )
}
