import { formatDuration, type OperationStatus } from '../../index.ts'
import { percent } from '../figures.ts'
import type { Line } from '../output.ts'
import type { Crew, LogLine } from './crew.ts'

/** Once the operation is this far, the worker of a running batch is killed. */
const halfWay = 0.45

/** What became of the killed worker's batch. */
export interface Takeover {
  pid: number
  batch: number
  at: number
  killedAtMs: number
  takenOverAfterMs: number | undefined
}

/** The demo's one accident: it waits for its moment, happens, and is followed until somebody has taken over. */
export class Accident {
  readonly #say: (...line: Line) => void
  #takeover: Takeover | undefined

  constructor(say: (...line: Line) => void) {
    this.#say = say
  }

  get takeover(): Takeover | undefined {
    return this.#takeover
  }

  /** Kills a worker when the moment has come. */
  consider({ progress = 0, batches, state }: OperationStatus, crew: Crew): void {
    if (this.#takeover !== undefined || progress < halfWay || state !== 'active') return
    // The batch that was carved last is the least likely to end before the signal arrives.
    const victim = batches.findLast((batch) => batch.state === 'running' && batch.workerId !== null)
    const pid = victim?.workerId == null ? undefined : crew.kill(victim.workerId)
    if (victim === undefined || pid === undefined) return
    this.#takeover = { pid, batch: victim.batch, at: progress, killedAtMs: Date.now(), takenOverAfterMs: undefined }
    this.#say(
      ['yellow', '!'],
      ` killed worker ${pid} with SIGKILL at ${percent(progress)}, in the middle of batch ${victim.batch}`,
    )
  }

  /** Listens to the surviving worker. */
  hear(line: LogLine): void {
    const takeover = this.#takeover
    if (takeover === undefined || takeover.takenOverAfterMs !== undefined) return
    if (line.event !== 'batch.started' || line['resumed'] !== true || typeof line['batch'] !== 'number') return
    takeover.batch = line['batch']
    takeover.takenOverAfterMs = Date.now() - takeover.killedAtMs
    const after = formatDuration(takeover.takenOverAfterMs)
    this.#say(
      ['green', '✓'],
      ` batch ${takeover.batch} taken over at its checkpoint after ${after}, by the other worker`,
    )
  }
}
