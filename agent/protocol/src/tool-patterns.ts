/** Lists of tools, as policies and agents have them. */

/** The first pattern that names the tool: a whole name, or a beginning followed by `*`. */
export const findPattern = (patterns: readonly string[], tool: string): string | undefined =>
  patterns.find(pattern => (pattern.endsWith('*') ? tool.startsWith(pattern.slice(0, -1)) : pattern === tool))
