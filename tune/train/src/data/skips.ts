/**
 * Rows excluded from training, with the reason. A data set of a million rows has some invalid ones, which
 * should not stop the run. They are counted by reason and reported with the first of each.
 */
import { InputError } from '@cairn-tune/weights'

/** `where` names the row: file and line, or file and row. */
export type Skipped = { where: string; reason: string }

export type SkipSummary = { rows: number; reasons: { reason: string; rows: number; first: string }[] }

/** What to do with an invalid row. */
export type BadRows = 'skip' | 'error'

/** Groups by reason, most frequent first. Reasons that differ only in numbers count as one. */
export function summarise(skipped: readonly Skipped[]): SkipSummary {
  const groups = new Map<string, SkipSummary['reasons'][number]>()
  const seen = new Set<string>()
  for (const { where, reason } of skipped) {
    // A row repeated to reach a number of samples counts once.
    if (seen.has(where)) continue
    seen.add(where)
    const key = reason.replaceAll(/\d+/g, '#')
    const known = groups.get(key)
    if (known) known.rows++
    else groups.set(key, { reason, rows: 1, first: where })
  }
  return { rows: seen.size, reasons: [...groups.values()].toSorted((a, b) => b.rows - a.rows) }
}

/** `3 rows left out: 2 × not JSON (first a.jsonl:5), 1 × …`. Empty if no row was left out. */
export function skipText({ rows, reasons }: SkipSummary): string {
  if (rows === 0) return ''
  const parts = reasons.map(({ reason, rows: count, first }) => `${count} × ${reason} (first ${first})`)
  return `skipped ${rows} ${rows === 1 ? 'row' : 'rows'}: ${parts.join(', ')}`
}

/** Throws if rows were excluded and the configuration forbids it, or if no row is left. */
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
