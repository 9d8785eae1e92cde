/** A line diff of two texts: hunks with some lines of context. */
import { structuredPatch } from 'diff'

export type DiffLine = { sign: ' ' | '+' | '-'; text: string; before: number | null; after: number | null }
export type Hunk = { lines: readonly DiffLine[] }
export type LineDiff = { hunks: readonly Hunk[]; added: number; removed: number }

const AROUND = 3
/** The comparison is abandoned at more edits than this, because it would block the page. */
const MAX_EDITS = 4000

/** The diff from `before` to `after` with `around` lines of context; null if the texts differ too much. */
export function diffLines(before: string, after: string, around = AROUND): LineDiff | null {
  const patch = structuredPatch('', '', before, after, '', '', {
    context: around,
    maxEditLength: MAX_EDITS,
  })
  if (patch === undefined) return null
  const hunks = patch.hunks.map(({ oldStart, newStart, lines }) => {
    let old = oldStart
    let fresh = newStart
    return {
      lines: lines
        // "\ No newline at end of file" belongs to the line before it.
        .filter(line => !line.startsWith('\\'))
        .map((line): DiffLine => {
          const text = line.slice(1)
          if (line.startsWith('+')) return { sign: '+', text, before: null, after: fresh++ }
          if (line.startsWith('-')) return { sign: '-', text, before: old++, after: null }
          return { sign: ' ', text, before: old++, after: fresh++ }
        }),
    }
  })
  const count = (sign: DiffLine['sign']) =>
    hunks.reduce((sum, { lines }) => sum + lines.filter(line => line.sign === sign).length, 0)
  return { hunks, added: count('+'), removed: count('-') }
}
