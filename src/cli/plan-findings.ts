import type { PlanFinding } from '../index.ts'
import { plural } from './figures.ts'
import { oneLine, wrapWords } from './layout.ts'
import type { Line, Part } from './output.ts'

const marks: Readonly<Record<PlanFinding['severity'], Part>> = {
  refuse: ['red', '✗'],
  warn: ['yellow', '!'],
  note: ['dim', '·'],
}

/** Each finding with why it matters and what to do; the gravest first. */
export function planFindingLines(findings: readonly PlanFinding[], width?: number): Line[] {
  if (findings.length === 0) return []
  return [[], [['bold', headOf(findings)]], ...findings.flatMap((finding) => findingBlock(finding, width))]
}

function headOf(findings: readonly PlanFinding[]): string {
  const numberOf = (wanted: PlanFinding['severity']): number =>
    findings.filter(({ severity }) => severity === wanted).length
  const [refused, warned, noted] = [numberOf('refuse'), numberOf('warn'), numberOf('note')]
  return [
    ...(refused > 0 ? [plural(refused, 'refusal')] : []),
    ...(warned > 0 ? [plural(warned, 'warning')] : []),
    ...(noted > 0 ? [plural(noted, 'note')] : []),
  ].join(', ')
}

function findingBlock({ severity, check, what, why, remedy }: PlanFinding, width = Number.POSITIVE_INFINITY): Line[] {
  const [first = '', ...rest] = wrapWords(oneLine(`${check}: ${what}`), width - 2)
  return [
    [marks[severity], ' ', severity === 'refuse' ? ['red', first] : first],
    ...rest.map((text): Line => ['  ', severity === 'refuse' ? ['red', text] : text]),
    ...wrapWords(oneLine(why), width - 2).map((text): Line => ['  ', ['dim', text]]),
    ...wrapWords(oneLine(remedy), width - 4).map((text, n): Line => ['  ', n === 0 ? ['cyan', '→ '] : '  ', text]),
  ]
}
