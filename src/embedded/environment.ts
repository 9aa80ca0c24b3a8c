const passed = ['PATH', 'TZ', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH', 'TMPDIR', 'TEMP', 'TMP', 'SystemRoot', 'ComSpec']

/**
 * What the server's processes see of our environment. The server outlives us and may run as another user, so it gets no
 * secrets; and its messages are read by `diagnose`, so they must be in English.
 */
export function environment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  const kept = passed.flatMap((name) => (own[name] === undefined ? [] : [[name, own[name]] as const]))
  return { ...Object.fromEntries(kept), LC_ALL: 'C' }
}
