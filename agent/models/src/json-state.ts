/**
 * Whether a JSON object that arrives in pieces has ended. Only brackets and quotes are followed, so each
 * character costs the same whatever the length so far; parsing the text again for each piece would not.
 */
export type JsonState = {
  depth: number
  inString: boolean
  afterBackslash: boolean
  /** Closed more than was opened: the text is the end of something else. */
  isBroken: boolean
}

export const beginJson = (): JsonState => ({
  depth: 0,
  inString: false,
  afterBackslash: false,
  isBroken: false,
})

export function scanJson(state: JsonState, piece: string): void {
  for (let at = 0; at < piece.length; at++) {
    const char = piece[at]
    if (state.inString) {
      if (state.afterBackslash) state.afterBackslash = false
      else if (char === '\\') state.afterBackslash = true
      else if (char === '"') state.inString = false
    } else if (char === '"') state.inString = true
    else if (char === '{' || char === '[') state.depth += 1
    else if (char === '}' || char === ']') {
      state.depth -= 1
      if (state.depth < 0) state.isBroken = true
    }
  }
}

/** An object or a string is still open. */
export const isOpen = ({ depth, inString }: JsonState): boolean => depth > 0 || inString
