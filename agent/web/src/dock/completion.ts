/** Completions of the word at the caret: a command or skill at the start, a file after `@`. Pure. */

export type Wanted = { kind: 'command' | 'file'; query: string; from: number; to: number }
export type Candidate = { insert: string; label: string; help: string }

/** Maximum number of completions shown. */
const MAX_ITEMS = 8

export function wantedAt(text: string, caret: number): Wanted | null {
  const command = /^\/([\w-]*)$/.exec(text.slice(0, caret))
  if (command) return { kind: 'command', query: command[1] ?? '', from: 0, to: caret }
  const file = /(?:^|\s)@([^\s@]*)$/.exec(text.slice(0, caret))
  if (file === null) return null
  const query = file[1] ?? ''
  return { kind: 'file', query, from: caret - query.length - 1, to: caret }
}

/** Matching candidates: those that start with the query first, then those that contain it. */
export function fitting(candidates: readonly Candidate[], query: string): Candidate[] {
  const wanted = query.toLowerCase()
  const rank = ({ label }: Candidate): number => {
    const name = label.toLowerCase().replace(/^\//, '')
    const last = name.slice(name.lastIndexOf('/') + 1)
    if (name.startsWith(wanted) || last.startsWith(wanted)) return 0
    return name.includes(wanted) ? 1 : 2
  }
  return candidates
    .map(candidate => ({ candidate, rank: rank(candidate) }))
    .filter(({ rank }) => rank < 2)
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MAX_ITEMS)
    .map(({ candidate }) => candidate)
}

/** The text with the candidate inserted, and the new caret position. */
export function completed(
  text: string,
  { from, to }: Wanted,
  { insert }: Candidate,
): { text: string; caret: number } {
  const rest = text.slice(to)
  const piece = rest.startsWith(' ') ? insert : `${insert} `
  return { text: text.slice(0, from) + piece + rest, caret: from + piece.length }
}
