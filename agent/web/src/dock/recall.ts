/** Recalling earlier messages with the arrow keys. Pure. */

export type Recall = { at: number; draft: string }

/** `said` is oldest first; `at` counts from its end, and 0 is the draft. Null at either end. */
export function recall(
  said: readonly string[],
  { at, draft }: Recall,
  by: 1 | -1,
): { text: string; next: Recall } | null {
  const place = at + by
  if (place < 0 || place > said.length) return null
  const text = place === 0 ? draft : (said.at(-place) ?? '')
  return { text, next: { at: place, draft } }
}
