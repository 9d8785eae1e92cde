/** Finds the known word that a person may have meant. */

/** Number of edits (insert, delete, replace, swap of neighbors) between two words. */
export function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const replace = last[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swap =
        i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? before[j - 2]! + 1 : Infinity
      row.push(Math.min(last[j]! + 1, row[j - 1]! + 1, replace, swap))
    }
    before = last
    last = row
  }
  return last[b.length]!
}

const plain = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, '')

/** The nearest known word; undefined if none is near enough. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map(name => ({ name, distance: editDistance(plain(word), plain(name)) }))
    .toSorted((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best !== undefined && best.distance <= Math.max(2, Math.floor(best.name.length / 3))
    ? best.name
    : undefined
}
