/** Two changes of one text, put together where they do not touch each other. */
import { diff3Merge } from 'node-diff3'

/**
 * So many pairs of equal lines are compared at most: two files of thousands of the same line would keep the
 * process busy for minutes.
 */
const MAX_PAIRS = 1_000_000

/** Null: the changes touch each other, or the texts are too large to tell. */
export function mergeText(ours: string, original: string, theirs: string): string | null {
  const [a, o, b] = [linesOf(ours), linesOf(original), linesOf(theirs)]
  if (pairs(a, o) > MAX_PAIRS || pairs(o, b) > MAX_PAIRS) return null
  const merged: string[] = []
  for (const region of diff3Merge(a, o, b, { excludeFalseConflicts: true })) {
    if (region.ok === undefined) return null
    merged.push(...region.ok)
  }
  return merged.join('')
}

/** With their line ends, so that the last one and a file of another system stay as they are. */
const linesOf = (text: string): string[] => text.split(/(?<=\n)/)

function pairs(a: readonly string[], b: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const line of a) counts.set(line, (counts.get(line) ?? 0) + 1)
  return b.reduce((sum, line) => sum + (counts.get(line) ?? 0), 0)
}
