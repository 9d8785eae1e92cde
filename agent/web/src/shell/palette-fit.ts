/** The palette entries that match the typed text, best match first. Pure. */

export type Entry = {
  id: string
  label: string
  /** The kind of the entry, or further details. */
  detail: string
  run: () => void
}

/** Maximum number of entries shown. */
const MAX_ITEMS = 12

/** Every word must be in the label or the detail; labels that start with the text come first. */
export function fittingEntries(entries: readonly Entry[], typed: string): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const rank = ({ label, detail }: Entry): number => {
    const [name, all] = [label.toLowerCase(), `${label} ${detail}`.toLowerCase()]
    if (!words.every(word => all.includes(word))) return 3
    if (words.length > 0 && name.startsWith(words[0] ?? '')) return 0
    return words.every(word => name.includes(word)) ? 1 : 2
  }
  return entries
    .map(entry => ({ entry, rank: rank(entry) }))
    .filter(({ rank }) => rank < 3)
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, MAX_ITEMS)
    .map(({ entry }) => entry)
}
