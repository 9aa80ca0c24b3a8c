import { styleText } from 'node:util'
import { printable, redact } from '../index.ts'
import { hasColour, isCi } from './colour.ts'

type Style = 'bold' | 'dim' | 'green' | 'yellow' | 'red' | 'cyan'

/** A piece of a line. Styles are added after the text was made safe, so text from outside can never bring its own. */
export type Part = string | readonly [Style, string]

/** One line as its pieces. */
export type Line = readonly Part[]

type Stream = NodeJS.WriteStream | (NodeJS.WritableStream & { isTTY?: boolean; columns?: number })

/** Where output goes and how it was asked to look. */
export interface OutputOptions {
  stdout: Stream
  stderr: Stream
  env: NodeJS.ProcessEnv
  json: boolean
  colour: boolean
  quiet: boolean
  verbose: boolean
}

/** The only way out for text: data on stdout, everything else on stderr, nothing unsafe and no password on either. */
export class Output {
  readonly json: boolean
  readonly quiet: boolean
  readonly verbose: boolean
  readonly stdout: Stream
  readonly stderr: Stream
  /** A person looks at stderr, so lines may be drawn again in place. */
  readonly live: boolean
  readonly #colours: { stdout: boolean; stderr: boolean }
  #notesAsJson = false

  constructor({ stdout, stderr, env, json, colour, quiet, verbose }: OutputOptions) {
    const coloured = (stream: Stream) => hasColour({ flag: colour, env, terminal: stream.isTTY === true })
    this.json = json
    this.quiet = quiet
    this.verbose = verbose
    this.stderr = stderr
    this.live = stderr.isTTY === true && env['TERM'] !== 'dumb' && !isCi(env)
    this.stdout = stdout
    this.#colours = { stdout: coloured(stdout), stderr: coloured(stderr) }
  }

  /** How wide the terminal of the answer is; what goes into a pipe or file is never cut. */
  get columns(): number | undefined {
    return this.stdout.isTTY === true ? this.stdout.columns : undefined
  }

  /** A line of the answer. */
  data(...line: Line): void {
    this.stdout.write(`${renderLine(line, this.#colours.stdout)}\n`)
  }

  /** The answer for a program: one line, of a shape that only grows within a version. */
  record(content: Readonly<Record<string, unknown>>): void {
    this.stdout.write(`${JSON.stringify({ version: 1, ...content })}\n`)
  }

  /** Something to know that is not the answer. */
  note(...line: Line): void {
    if (!this.quiet) this.#tell(30, line)
  }

  warn(...line: Line): void {
    this.#tell(40, [['yellow', 'warning: '], ...line])
  }

  /** The one error that ended the command. */
  error(message: string, code?: string): void {
    const tail: Line = code === undefined ? [] : [['dim', ` (${code})`]]
    this.#tell(60, [['red', 'error: '], message, ...tail], { code })
  }

  /** What stderr would show, for those who draw there themselves. */
  render(line: Line): string {
    return renderLine(line, this.#colours.stderr)
  }

  /** From now on stderr is a log that programs read: notes become lines of JSON like all others there. */
  writeNotesAsJson(): void {
    this.#notesAsJson = true
  }

  #tell(level: number, line: Line, more: { code?: string | undefined } = {}): void {
    const msg = renderLine(line, false)
    const text = this.#notesAsJson
      ? JSON.stringify({ level, time: new Date().toISOString(), ...more, msg })
      : this.render(line)
    this.stderr.write(`${text}\n`)
  }
}

/** A line as text, safe to print. */
export function renderLine(line: Line, coloured: boolean): string {
  return line
    .map((part) => {
      const [style, text] = typeof part === 'string' ? [undefined, part] : part
      const safe = printable(redact(text))
      return style === undefined || !coloured ? safe : styleText(style, safe, { validateStream: false })
    })
    .join('')
}
