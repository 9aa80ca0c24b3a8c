import type { Finding } from '../index.ts'
import type { Line, Part } from './output.ts'

const marks: Readonly<Record<Finding['level'], Part>> = {
  ok: ['green', '✓'],
  warning: ['yellow', '!'],
  problem: ['red', '✗'],
}

/** Findings in columns, each that needs an action with its remedy below. */
export function findingLines(findings: readonly Finding[]): Line[] {
  const width = Math.max(...findings.map(({ check }) => check.length))
  return findings.flatMap(({ check, level, found, remedy }): Line[] => {
    const line: Line = [marks[level], ' ', check.padEnd(width), '  ', found]
    return remedy === undefined ? [line] : [line, [' '.repeat(width + 4), ['cyan', '→ '], remedy]]
  })
}
