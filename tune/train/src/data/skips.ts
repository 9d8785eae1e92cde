/**
 * Rows excluded from training, with the reason. A data set of a million rows has some invalid ones, which
 * should not stop the run. They are counted by reason and reported with the first of each.
 */
import { InputError } from '@cairn-tune/weights'

/** `where` names the row: file and line, or file and row. */
export type Skipped = { where: string; reason: string }

export type SkipSummary = { rows: number; reasons: SkipReason[] }
/** `others` are the places of a few more such rows. */
type SkipReason = { reason: string; rows: number; first: string; others?: string[] }

/** What to do with an invalid row. */
export type BadRows = 'skip' | 'error'

/** Places that a reason keeps besides the first. */
const MAX_OTHERS = 2

export type SkipTally = {
  add: (skipped: Skipped) => void
  /** The first row that was added. */
  readonly first: Skipped | undefined
  summary: () => SkipSummary
}

/** Counts rows as they are skipped, by reason. Reasons that differ only in numbers count as one. */
export function createTally(): SkipTally {
  const groups = new Map<string, SkipReason>()
  let first: Skipped | undefined
  let last: string | undefined
  let rows = 0
  return {
    get first() {
      return first
    },
    add({ where, reason }) {
      // A row that gives several examples counts once.
      if (where === last) return
      last = where
      first ??= { where, reason }
      rows++
      const key = reason.replaceAll(/\d+/g, '#')
      const known = groups.get(key)
      if (!known) groups.set(key, { reason, rows: 1, first: where })
      else {
        known.rows++
        if ((known.others?.length ?? 0) < MAX_OTHERS) known.others = [...(known.others ?? []), where]
      }
    },
    summary: () => ({ rows, reasons: [...groups.values()].toSorted((a, b) => b.rows - a.rows) }),
  }
}

/** Several summaries as one. */
export function joinSummaries(summaries: readonly SkipSummary[]): SkipSummary {
  const groups = new Map<string, SkipReason>()
  for (const one of summaries.flatMap(({ reasons }) => reasons)) {
    const key = one.reason.replaceAll(/\d+/g, '#')
    const known = groups.get(key)
    groups.set(key, known ? { ...known, rows: known.rows + one.rows } : one)
  }
  return {
    rows: summaries.reduce((sum, { rows }) => sum + rows, 0),
    reasons: [...groups.values()].toSorted((a, b) => b.rows - a.rows),
  }
}

/** Groups by reason, most frequent first. A row that appears several times counts once. */
export function summarise(skipped: readonly Skipped[]): SkipSummary {
  const tally = createTally()
  const seen = new Set<string>()
  for (const one of skipped) {
    if (!seen.has(one.where)) tally.add(one)
    seen.add(one.where)
  }
  return tally.summary()
}

/** `3 rows left out: 2 × not JSON (first a.jsonl:5), 1 × …`. Empty if no row was left out. */
export function skipText({ rows, reasons }: SkipSummary): string {
  if (rows === 0) return ''
  const parts = reasons.map(({ reason, rows: count, first }) => `${count} × ${reason} (first ${first})`)
  return `skipped ${rows} ${rows === 1 ? 'row' : 'rows'}: ${parts.join(', ')}`
}

/** `2 rows train nothing: 2 × no message has … (a.jsonl:5, a.jsonl:9)`. Empty without such rows. */
export function untrainedText({ rows, reasons }: SkipSummary): string {
  if (rows === 0) return ''
  const parts = reasons.map(
    ({ reason, rows: count, first, others = [] }) =>
      `${count} × ${reason} (${[first, ...others].join(', ')})`,
  )
  return `${rows} ${rows === 1 ? 'row trains' : 'rows train'} nothing: ${parts.join(', ')}`
}

/** Throws if rows were excluded and the configuration forbids it, or if no row is left. */
export function checkSkipped(
  first: Skipped | undefined,
  { rows, reasons }: SkipSummary,
  left: number,
  badRows: BadRows,
): void {
  if (!first || (badRows === 'skip' && left > 0)) return
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
