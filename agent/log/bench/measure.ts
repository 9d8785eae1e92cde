/** One line of a benchmark, and how its latencies are summed up. */

export type Row = {
  what: string
  /** How much of it went on at once. */
  concurrent: number
  per_second: number
  /** Of one operation, where that was timed. */
  p50_ms: number | null
  p99_ms: number | null
}

export function quantile(sorted: readonly number[], q: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0
}

const round = (ms: number): number => Math.round(ms * 1000) / 1000

/** Runs `operation` from `concurrent` callers, each one after the other, for about `seconds`. */
export async function closedLoop(
  what: string,
  concurrent: number,
  seconds: number,
  operation: (caller: number) => Promise<unknown>,
): Promise<Row> {
  const times: number[] = []
  const start = performance.now()
  const end = start + seconds * 1000
  await Promise.all(
    Array.from({ length: concurrent }, async (_, caller) => {
      for (let from = performance.now(); from < end;) {
        await operation(caller)
        const to = performance.now()
        times.push(to - from)
        from = to
      }
    }),
  )
  const elapsed = performance.now() - start
  const sorted = [...Float64Array.from(times).toSorted()]
  return {
    what,
    concurrent,
    per_second: Math.round((times.length / elapsed) * 1000),
    p50_ms: round(quantile(sorted, 0.5)),
    p99_ms: round(quantile(sorted, 0.99)),
  }
}

export function printRows(rows: readonly Row[]): void {
  console.log(
    [
      'what'.padEnd(44),
      'at once'.padStart(8),
      'per second'.padStart(12),
      'p50 ms'.padStart(9),
      'p99 ms'.padStart(9),
    ].join(' '),
  )
  for (const row of rows) {
    const cells = [
      row.what.padEnd(44),
      String(row.concurrent).padStart(8),
      row.per_second.toLocaleString('en-US').padStart(12),
    ]
    console.log(
      [...cells, String(row.p50_ms ?? '').padStart(9), String(row.p99_ms ?? '').padStart(9)].join(' '),
    )
  }
}
