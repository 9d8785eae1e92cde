/** Content without a text of its own, in words for the agent: `[Location: 1, 2; Café]`. */

/** The facts that are known, after the kind of content. */
export const described = (kind: string, facts: readonly (string | undefined)[]): string => {
  const known = facts.filter(fact => fact !== undefined && fact !== '')
  return known.length === 0 ? `[${kind}]` : `[${kind}: ${known.join('; ')}]`
}

/** The parts that are not empty, one below the other. */
export const lines = (parts: readonly (string | undefined)[]): string =>
  parts.filter(part => part !== undefined && part.trim() !== '').join('\n')
