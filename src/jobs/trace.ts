/**
 * The context of a trace travels with a job among its tags: they are stored and claimed anyway, so that who does not
 * trace pays nothing. Nobody sees it among them.
 */
const prefix = 'traceparent:'

/** The tag that carries a context, in the form of the W3C. */
export const traceTag = (traceparent: string): string => prefix + traceparent

/** The context among the tags of a job, for the event of its start; nothing where there is none. */
export function tracedBy({ tags }: { tags: readonly string[] | null }): { trace?: string } {
  const tag = tags?.find((one) => one.startsWith(prefix))
  return tag === undefined ? {} : { trace: tag.slice(prefix.length) }
}

/** The id of the trace that a job belongs to: the second part of its context. */
export const traceIdOf = (tags: readonly string[] | null): string | null =>
  tracedBy({ tags }).trace?.split('-')[1] ?? null

/** The tags that were given. */
export const ownTags = (tags: readonly string[] | null): readonly string[] =>
  tags?.filter((tag) => !tag.startsWith(prefix)) ?? []
