const problems: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EISDIR: 'it is a folder',
  EEXIST: 'it is there already',
  EACCES: 'the rights for it are missing',
  ERR_ENCODING_INVALID_ENCODED_DATA: 'it is no text in UTF-8',
}

/** Why a file could not be read or written, in words. */
export function fileProblem(error: unknown): string {
  const { code, message } = error instanceof Error ? (error as NodeJS.ErrnoException) : { message: String(error) }
  return problems[code ?? ''] ?? message
}
