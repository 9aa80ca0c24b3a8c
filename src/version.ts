import { createRequire } from 'node:module'

const { version: found } = createRequire(import.meta.url)('../package.json') as { version: string }

/** The release of Sluice. */
export const version: string = found
