/**
 * Packing: documents into as few rows as best-fit-decreasing finds. The longest document goes first, each
 * into the row with the least room that still takes it. No document is split, so each is seen whole.
 */

/**
 * Which documents lie in each row. Documents of equal length keep the order given, so the caller's shuffle
 * decides who sits with whom.
 */
export function packRows(lengths: readonly number[], rowLength: number): number[][] {
  const tooLong = lengths.findIndex(length => length > rowLength || length < 1)
  if (tooLong >= 0)
    throw new Error(
      `[packRows] document ${tooLong} has ${lengths[tooLong]} tokens, a row takes 1 to ${rowLength}`,
    )
  const order = lengths.map((_, i) => i).toSorted((a, b) => (lengths[b] ?? 0) - (lengths[a] ?? 0) || a - b)
  const rows: number[][] = []
  const withRoom = roomIndex(rowLength)
  for (const document of order) {
    const length = lengths[document] ?? 0
    const room = withRoom.leastFrom(length)
    const row = room === undefined ? rows.push([]) - 1 : withRoom.take(room)
    rows[row]?.push(document)
    withRoom.put((room ?? rowLength) - length, row)
  }
  return rows
}

/** Rows by the room they have left; a bit a size says whether there is any. */
function roomIndex(most: number) {
  const rows: number[][] = Array.from({ length: most + 1 }, () => [])
  const words = new Uint32Array(Math.ceil((most + 1) / 32))
  const listOf = (room: number) => rows[room] ?? []
  return {
    put(room: number, row: number): void {
      listOf(room).push(row)
      words[room >> 5] = (words[room >> 5] ?? 0) | (1 << (room & 31))
    },
    /** The row that got this room last. */
    take(room: number): number {
      const row = listOf(room).pop()
      if (row === undefined) throw new Error(`[packRows] no row with room ${room}`)
      if (listOf(room).length === 0) words[room >> 5] = (words[room >> 5] ?? 0) & ~(1 << (room & 31))
      return row
    },
    leastFrom(room: number): number | undefined {
      let mask = -1 << (room & 31)
      for (let word = room >> 5; word < words.length; word++, mask = -1) {
        const bits = (words[word] ?? 0) & mask
        if (bits !== 0) return word * 32 + 31 - Math.clz32(bits & -bits)
      }
      return undefined
    },
  }
}
