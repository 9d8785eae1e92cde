/**
 * A message that looks like a slash command but is not one. Clients do not send it, because a mistyped
 * command is not a task for a model. The server itself treats such a message as text. Pure.
 */
import { SLASH_COMMANDS } from './slash-command.ts'

export type UnknownCommand = {
  /** The word as the user wrote it, with the slash. */
  word: string
  /** The nearest command, with the slash; null if none is near. */
  meant: string | null
}

/**
 * Null if the text may be sent: it begins with a command or a skill, with a path (`/etc/hosts`), or with a
 * space, or with other text. `names` are the skills and other known words.
 */
export function unknownCommand(text: string, names: readonly string[]): UnknownCommand | null {
  const written = /^\/([A-Za-z][\w-]*)(?=\s|$)/.exec(text)?.[1]
  if (written === undefined) return null
  const known = [...new Set([...SLASH_COMMANDS.map(({ name }) => name), ...names])]
  const word = written.toLowerCase()
  if (known.some(name => name.toLowerCase() === word)) return null
  const [best] = known
    .map(name => ({ name, edits: countEdits(word, name.toLowerCase()) }))
    .filter(({ edits }) => edits <= MAX_EDITS && 2 * edits < word.length)
    .toSorted((a, b) => a.edits - b.edits)
  return { word: `/${written}`, meant: best === undefined ? null : `/${best.name}` }
}

const MAX_EDITS = 2

/** Insertions, deletions, replacements and swaps of neighbors between two words. */
function countEdits(a: string, b: string): number {
  const rows: number[][] = [Array.from({ length: b.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    const above = rows[i - 1]!
    for (let j = 1; j <= b.length; j++) {
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(
        Math.min(
          above[j]! + 1,
          row[j - 1]! + 1,
          above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1),
          isSwap ? rows[i - 2]![j - 2]! + 1 : Infinity,
        ),
      )
    }
    rows.push(row)
  }
  return rows[a.length]![b.length]!
}
