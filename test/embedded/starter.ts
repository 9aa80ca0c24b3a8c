import { SluiceError } from '../../src/errors.ts'
import { startEmbedded } from '../../src/embedded/index.ts'

// A process of its own that starts a server and tells of it in one line. argv: the options as JSON, "hold" or "leave".
const [, , options = '{}', manner] = process.argv

function tell(report: unknown): void {
  process.stdout.write(`${JSON.stringify(report)}\n`)
}

try {
  const { url, port, pid, started } = await startEmbedded(JSON.parse(options))
  tell({ url, port, pid, started })
  if (manner === 'hold') setInterval(() => undefined, 1_000)
} catch (error) {
  if (!(error instanceof SluiceError)) throw error
  tell({ code: error.code, message: error.message })
}
