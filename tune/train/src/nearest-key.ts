/** The known key closest to a mistyped one, if any is close. */
export function nearestKey(typed: string, known: readonly string[]): string | undefined {
  const ranked = known
    .map(key => ({ key, distance: editDistance(typed.toLowerCase(), key) }))
    .toSorted((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= Math.max(2, best.key.length / 3) ? best.key : undefined
}

/** Levenshtein distance: insertions, deletions and substitutions of letters. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(
        Math.min(
          (next[j - 1] ?? 0) + 1,
          (row[j] ?? 0) + 1,
          (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]),
        ),
      )
    }
    row = next
  }
  return row[b.length] ?? 0
}
