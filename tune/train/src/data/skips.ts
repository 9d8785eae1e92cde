/**
 * Rows that are left out of training, and why: a set of a million rows has some that are damaged, and one of
 * them is no reason to stop. They are counted by reason and said, with the first of each.
 */
import { InputError } from '@cairn-tune/weights'

/** `where` names the row: file and line, or file and row. */
export type Skipped = { where: string; reason: string }

export type SkipSummary = { rows: number; reasons: { reason: string; rows: number; first: string }[] }

/** What to do with a row that cannot be used. */
export type BadRows = 'skip' | 'error'

/** By reason, the most frequent first; reasons that differ in their numbers alone are one. */
export function summarise(skipped: readonly Skipped[]): SkipSummary {
  const groups = new Map<string, SkipSummary['reasons'][number]>()
  const seen = new Set<string>()
  for (const { where, reason } of skipped) {
    // A row that is repeated to make up a number of samples is one row.
    if (seen.has(where)) continue
    seen.add(where)
    const key = reason.replaceAll(/\d+/g, '#')
    const known = groups.get(key)
    if (known) known.rows++
    else groups.set(key, { reason, rows: 1, first: where })
  }
  return { rows: seen.size, reasons: [...groups.values()].toSorted((a, b) => b.rows - a.rows) }
}

/** `3 rows left out: 2 × not JSON (first a.jsonl:5), 1 × …`; empty where none is. */
export function skipText({ rows, reasons }: SkipSummary): string {
  if (rows === 0) return ''
  const parts = reasons.map(({ reason, rows: count, first }) => `${count} × ${reason} (first ${first})`)
  return `skipped ${rows} ${rows === 1 ? 'row' : 'rows'}: ${parts.join(', ')}`
}

/** Throws where rows were left out that may not be, or where none is left to learn from. */
export function checkSkipped(skipped: readonly Skipped[], left: number, badRows: BadRows): void {
  const [first] = skipped
  if (!first || (badRows === 'skip' && left > 0)) return
  const { rows, reasons } = summarise(skipped)
  const others = reasons
    .slice(1)
    .map(({ reason, rows: count, first: at }) => `\n${at}: ${reason} (${count} rows)`)
  const all =
    rows === 1
      ? ''
      : left === 0
        ? `; none of ${rows} rows can be used`
        : `; ${rows - 1} more rows are also bad`
  throw new InputError(
    `${first.where}: ${first.reason}${all}` +
      `${left > 0 ? '; set bad_rows: skip to skip them' : ''}${others.join('')}`,
  )
}
