/** Merges two changes of a text that do not overlap. */
import { diff3Merge } from 'node-diff3'

/**
 * Maximum pairs of equal lines to compare: two files with thousands of identical lines would block the
 * process for minutes.
 */
const MAX_PAIRS = 1_000_000

/** Null: the changes overlap, or the texts are too large to merge. */
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

/** Lines with their line ends, so that the last line and CRLF files are preserved. */
const linesOf = (text: string): string[] => text.split(/(?<=\n)/)

function pairs(a: readonly string[], b: readonly string[]): number {
  const counts = new Map<string, number>()
  for (const line of a) counts.set(line, (counts.get(line) ?? 0) + 1)
  return b.reduce((sum, line) => sum + (counts.get(line) ?? 0), 0)
}
