import { stripVTControlCharacters } from 'node:util'

type Terminal = NodeJS.WritableStream & { columns?: number }

const hideCursor = '\u001B[?25l'
const showCursor = '\u001B[?25h'
const eraseBelow = '\u001B[0J'
const upBy = (rows: number): string => (rows > 0 ? `\u001B[${rows}A\r` : '\r')

/** Lines at the bottom of a terminal that are drawn again in place. The cursor comes back however the process ends. */
export class LiveBlock {
  readonly #terminal: Terminal
  readonly #restore = (): void => void this.#terminal.write(showCursor)
  #lines: readonly string[] = []
  #open = false

  constructor(terminal: Terminal) {
    this.#terminal = terminal
  }

  /** One column less than there is: a line that fills the last one makes some terminals wrap. */
  get width(): number {
    return Math.max(20, (this.#terminal.columns ?? 80) - 1)
  }

  draw(lines: readonly string[]): void {
    const start = this.#open ? upBy(this.#rows()) : this.#begin()
    this.#write(start, lines)
  }

  /** Puts a line that stays above the block. */
  say(text: string): void {
    const lines = this.#lines
    const start = this.#open ? upBy(this.#rows()) : ''
    this.#terminal.write(`${start}${eraseBelow}${text}\n`)
    if (this.#open) this.#write('', lines)
  }

  /** Leaves what was drawn last where it is. */
  end(): void {
    if (!this.#open) return
    this.#open = false
    process.off('exit', this.#restore)
    this.#restore()
  }

  #begin(): string {
    this.#open = true
    process.on('exit', this.#restore)
    return hideCursor
  }

  #write(start: string, lines: readonly string[]): void {
    this.#lines = lines
    this.#terminal.write(`${start}${eraseBelow}${lines.join('\n')}\n`)
  }

  /** Rows that the block takes now; a window made narrower has wrapped its lines. */
  #rows(): number {
    const columns = this.#terminal.columns ?? 80
    return this.#lines.reduce(
      (rows, line) => rows + Math.max(1, Math.ceil(stripVTControlCharacters(line).length / columns)),
      0,
    )
  }
}
