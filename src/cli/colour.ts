/** What decides about colours on one stream. */
export interface ColourChoice {
  flag: boolean
  env: NodeJS.ProcessEnv
  terminal: boolean
}

/** Colours are for terminals with a person in front, unless a flag or the environment says otherwise. */
export function hasColour({ flag, env, terminal }: ColourChoice): boolean {
  if (!flag || isSet(env['NO_COLOR'])) return false
  if (isSet(env['FORCE_COLOR'])) return env['FORCE_COLOR'] !== '0' && env['FORCE_COLOR'] !== 'false'
  return terminal && env['TERM'] !== 'dumb' && !isCi(env)
}

/** Runs of continuous integration are kept as text: neither colours nor lines that are drawn again make sense there. */
export function isCi(env: NodeJS.ProcessEnv): boolean {
  return isSet(env['CI']) && env['CI'] !== 'false' && env['CI'] !== '0'
}

function isSet(value: string | undefined): boolean {
  return value !== undefined && value !== ''
}
