/** Sets of scopes as OAuth writes them: separated by blanks. */

const setOf = (scope: string | undefined): Set<string> => new Set(scope?.split(/\s+/).filter(Boolean))

/** Undefined: none of them names a scope. */
export function union(...scopes: readonly (string | undefined)[]): string | undefined {
  const all = new Set(scopes.flatMap(scope => [...setOf(scope)]))
  return all.size === 0 ? undefined : [...all].join(' ')
}

/** Whether the first has a scope that the second lacks. */
export const isWider = (scope: string | undefined, granted: string | undefined): boolean =>
  [...setOf(scope)].some(each => !setOf(granted).has(each))
