import type { OperationStatus } from '../index.ts'
import { LiveBlock } from './live-block.ts'
import { statusRecord } from './operation-lines.ts'
import type { Line, Output } from './output.ts'
import type { Sample } from './pace.ts'
import { progressBlock, progressLine } from './progress.ts'

/** Something that shows how an operation goes. */
export interface ProgressView {
  update(status: OperationStatus, history: readonly Sample[]): void
  /** A line that stays, in between. */
  say(...line: Line): void
  end(): void
}

/** A live block for a person at a terminal; a line now and then for everyone else. */
export function progressView(output: Output, lineEveryMs = 2_000): ProgressView {
  const silent = output.quiet || output.json
  if (silent) return { update: () => undefined, say: () => undefined, end: () => undefined }
  return output.live ? liveView(output) : lineView(output, lineEveryMs)
}

/** For programs: each second one record, and one at the end. */
export function recordView(output: Output): ProgressView {
  const record = everyNowAndThen(1_000, (status) => output.record({ operation: statusRecord(status) }))
  return { update: record, say: () => undefined, end: () => undefined }
}

function lineView(output: Output, everyMs: number): ProgressView {
  const update = everyNowAndThen(everyMs, (status, history) => output.note(progressLine(status, history)))
  return { update, say: (...line) => output.note(...line), end: () => undefined }
}

function liveView(output: Output): ProgressView {
  const block = new LiveBlock(output.stderr)
  return {
    update: (status, history) =>
      block.draw(progressBlock(status, history, block.width).map((line) => output.render(line))),
    say: (...line) => block.say(output.render(line)),
    end: () => block.end(),
  }
}

type Update = ProgressView['update']

/** The last status is always shown, whenever it comes. */
function everyNowAndThen(everyMs: number, show: Update): Update {
  let nextAt = 0
  return (status, history) => {
    if (Date.now() < nextAt && status.finishedAt === null) return
    nextAt = Date.now() + everyMs
    show(status, history)
  }
}
