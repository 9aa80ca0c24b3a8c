import { InvalidArgumentError } from 'commander'

/** The words of an option that takes several: `a,b`. */
export function wordList(text: string): string[] {
  const words = text.split(',').map((word) => word.trim())
  if (words.every((word) => word !== '')) return [...new Set(words)]
  throw new InvalidArgumentError('It must be a list such as a,b, without an empty place.')
}
