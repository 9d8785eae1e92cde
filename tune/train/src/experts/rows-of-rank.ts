/** The rows of a rank's experts among those of a micro-batch, which are in the order of experts. */

/** The first row, and the number of rows. `ends` has the end of the rows of every expert. */
export function rowsOfRank(
  ends: Int32Array | undefined,
  rank: number,
  local: number,
): { from: number; count: number } {
  const from = rank === 0 ? 0 : (ends?.[rank * local - 1] ?? 0)
  return { from, count: (ends?.[(rank + 1) * local - 1] ?? 0) - from }
}

/** The ends of the rank's own experts, counted from its first row: it multiplies no other rows. */
export function endsOfRank(ends: Int32Array, rank: number, local: number): Int32Array {
  const { from } = rowsOfRank(ends, rank, local)
  return ends.subarray(rank * local, (rank + 1) * local).map(end => end - from)
}
