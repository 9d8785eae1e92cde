/** Reads the examples of a data set one by one, and counts the rows that are skipped. */
import type { ExampleSource, SourceRow } from './load-dataset.ts'
import {
  checkSkipped,
  createTally,
  joinSummaries,
  type BadRows,
  type SkipSummary,
  type Skipped,
} from './skips.ts'

export type ReadCounts = {
  examples: number
  skipped: SkipSummary
  /** The first skipped row: one that cannot be parsed before one without an example, before a refused one. */
  firstSkipped: Skipped | undefined
}

/**
 * Calls `take` with each example, up to a number of them. It returns the reason if it refuses one. With
 * `badRows: error`, the rest of the rows is only checked once a bad row was found.
 */
export async function readExamplesOnce<E>(
  { rows }: ExampleSource<E>,
  { samples, badRows }: { samples?: number | undefined; badRows: BadRows },
  take: (example: E, index: number, where: string) => string | undefined,
): Promise<ReadCounts> {
  const [unread, unfit, refused] = [createTally(), createTally(), createTally()]
  let examples = 0
  const readRow = (row: SourceRow<E>) => {
    if ('reason' in row) {
      ;(row.isUnread ? unread : unfit).add({ where: row.where, reason: row.reason })
      return
    }
    for (const example of row.examples) {
      if (examples === samples) return
      const index = examples++
      if (badRows === 'error' && (unread.first ?? unfit.first)) continue
      const reason = take(example, index, row.where)
      if (reason !== undefined) refused.add({ where: row.where, reason })
    }
  }
  for await (const batch of rows()) {
    for (const row of batch) if (examples !== samples) readRow(row)
    if (examples === samples) break
  }
  const early = unread.first ?? unfit.first
  checkSkipped(early, joinSummaries([unread.summary(), unfit.summary()]), examples, badRows)
  return {
    examples,
    skipped: joinSummaries([unread, unfit, refused].map(tally => tally.summary())),
    firstSkipped: early ?? refused.first,
  }
}
