/** Matches tool names against the lists of policies and agents. */

/** The first pattern that matches the tool: a full name, or a prefix followed by `*`. */
export const findPattern = (patterns: readonly string[], tool: string): string | undefined =>
  patterns.find(pattern => (pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool))
