/**
 * Packing: puts documents into rows by best-fit decreasing. The longest document goes first, each into the
 * row with the least sufficient space. No document is split.
 */

/**
 * Returns the documents of each row. Documents of equal length keep the given order, so the caller's shuffle
 * decides which come together.
 */
export function packRows(lengths: readonly number[], rowLength: number): number[][] {
  const tooLong = lengths.findIndex(length => length > rowLength || length < 1)
  if (tooLong >= 0)
    throw new Error(
      `[packRows] document ${tooLong} has ${lengths[tooLong]} tokens; a row takes 1 to ${rowLength}`,
    )
  const order = lengths.map((_, i) => i).toSorted((a, b) => (lengths[b] ?? 0) - (lengths[a] ?? 0) || a - b)
  const rows: number[][] = []
  const bySpace = spaceIndex(rowLength)
  for (const document of order) {
    const length = lengths[document] ?? 0
    const space = bySpace.smallestFrom(length)
    const row = space === undefined ? rows.push([]) - 1 : bySpace.take(space)
    rows[row]?.push(document)
    bySpace.put((space ?? rowLength) - length, row)
  }
  return rows
}

/** Rows by remaining space; one bit per size says whether there is any. */
function spaceIndex(maxSpace: number) {
  const rows: number[][] = Array.from({ length: maxSpace + 1 }, () => [])
  const words = new Uint32Array(Math.ceil((maxSpace + 1) / 32))
  const listOf = (space: number) => rows[space] ?? []
  return {
    put(space: number, row: number): void {
      listOf(space).push(row)
      words[space >> 5] = (words[space >> 5] ?? 0) | (1 << (space & 31))
    },
    /** Takes the row that reached this space last. */
    take(space: number): number {
      const row = listOf(space).pop()
      if (row === undefined) throw new Error(`[packRows] no row with space ${space}`)
      if (listOf(space).length === 0) words[space >> 5] = (words[space >> 5] ?? 0) & ~(1 << (space & 31))
      return row
    },
    smallestFrom(space: number): number | undefined {
      let mask = -1 << (space & 31)
      for (let word = space >> 5; word < words.length; word++, mask = -1) {
        const bits = (words[word] ?? 0) & mask
        if (bits !== 0) return word * 32 + 31 - Math.clz32(bits & -bits)
      }
      return undefined
    },
  }
}
