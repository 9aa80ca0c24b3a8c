import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { SluiceError } from '../index.ts'

/** Beside this file where it is built; from source, where the build puts it. */
const homes = ['./assets/', '../../dist/dashboard/assets/'].map((path) => new URL(path, import.meta.url))

const types = {
  'app.js': 'text/javascript; charset=utf-8',
  'app.css': 'text/css; charset=utf-8',
  'icon.svg': 'image/svg+xml',
} as const

/** A file of the pages. */
export interface PageFile {
  type: string
  tag: string
  body: string
  /** The body, as most browsers want it. */
  zipped: Uint8Array<ArrayBuffer>
}

const loaded = new Map<string, PageFile>()

/** A file of the pages, by its name. There are three; no path is ever made of what was asked for. */
export function pageFile(name: string): PageFile | undefined {
  if (!Object.hasOwn(types, name)) return undefined
  const known = loaded.get(name)
  if (known !== undefined) return known
  const home = homes.find((folder) => existsSync(new URL(name, folder)))
  if (home === undefined) {
    throw new SluiceError('DASHBOARD_INVALID', {
      message: `The pages of the dashboard are not built (${name}). Run "npm run build" first.`,
    })
  }
  const body = readFileSync(fileURLToPath(new URL(name, home)), 'utf8')
  const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 20)}"`
  const file = { type: types[name as keyof typeof types], tag, body, zipped: new Uint8Array(gzipSync(body)) }
  loaded.set(name, file)
  return file
}

/** The one page. What differs between servers is data in it, and no script. */
export function shell(base: string): string {
  const at = escape(base)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<meta name="color-scheme" content="light dark">
<title>Sluice</title>
<link rel="icon" href="${at}/assets/icon.svg">
<link rel="stylesheet" href="${at}/assets/app.css">
<script type="module" src="${at}/assets/app.js"></script>
</head>
<body data-base="${at}"><div id="app"></div><noscript>The dashboard needs JavaScript.</noscript></body>
</html>
`
}

/** A page for who may not come in, or has just been let in. */
export function notice({ title, text, next }: { title: string; text: string; next?: string }): string {
  // A step that the page itself takes carries a strict cookie; a redirect from elsewhere would not.
  const refresh = next === undefined ? '' : `<meta http-equiv="refresh" content="0; url=${escape(next)}">`
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">${refresh}
<meta name="color-scheme" content="light dark"><title>${escape(title)}</title></head>
<body><main><h1>${escape(title)}</h1><p>${escape(text)}</p></main></body></html>
`
}

function escape(text: string): string {
  return text.replace(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)
}
