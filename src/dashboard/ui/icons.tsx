import type { JSX } from 'preact'

/** Drawn on a grid of 16, with one stroke. */
const paths = {
  check: 'M3 8.5l3.2 3.200L13 5',
  play: 'M5.5 3.500v9l7-4.500z',
  clock: 'M8 4.500V8l2.4 1.600M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2z',
  pause: 'M5.5 4v8M10.5 4v8',
  cross: 'M4 4l8 8M12 4l-8 8',
  dash: 'M4 8h8',
  back: 'M9.5 3.500L5 8l4.5 4.5',
  operations: 'M2 4h12M2 8h8M2 12h5',
  jobs: 'M3 3h4v4H3zM9 3h4v4H9zM3 9h4v4H3zM9 9h4v4H9z',
  queues: 'M2 12V8M6 12V4M10 12V6M14 12V9',
  failed: 'M8 2l6.5 11.500h-13zM8 6.500v3M8 11.600v.2',
  schedules: 'M3 3.500h10v10H3zM3 6.500h10M6 2v3M10 2v3',
  machines: 'M3 3h3.500v3.500H3zM9.5 9.500H13V13H9.500zM6.5 4.800h4.800v4.7',
  batches: 'M2.5 5.500L8 2.500l5.5 3L8 8.500zM2.5 8.500l5.5 3 5.5-3M2.5 11l5.5 3 5.5-3',
  workers: 'M3 3.500h10v6H3zM6 13h4M8 9.500V13',
  health: 'M1.5 8.500h3l2-5 3 9 2-4h3',
  audit: 'M4 2h6l3 3v9H4zM6.5 8h4M6.5 11h4',
  about: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2zM8 7.200v4M8 4.800v.2',
  sun: 'M8 5a3 3 0 1 0 0 6 3 3 0 0 0 0-6zM8 1v1.500M8 13.500V15M1 8h1.500M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1',
  moon: 'M13 9.500A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.500z',
  menu: 'M2 4h12M2 8h12M2 12h12',
  plus: 'M8 3v10M3 8h10',
} as const

export type IconName = keyof typeof paths

/** A sign beside a word; alone it says nothing to those who cannot see it. */
export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true" focusable="false">
      <path d={paths[name]} />
    </svg>
  )
}
