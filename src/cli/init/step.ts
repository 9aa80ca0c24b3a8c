/** What became of one file that `sluice init` cares for. */
export interface Step {
  file: string
  done: 'created' | 'changed' | 'kept'
  what: string
}
