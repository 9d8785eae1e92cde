/** Going back through what one has said, with the arrow keys. Pure. */

export type Recall = { at: number; draft: string }

/** `said` is oldest first; `at` counts from its end, 0 being the draft. Null: there is nothing further. */
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
