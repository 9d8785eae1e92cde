/** The palette entries that match the typed text, best match first, in groups. Pure. */
import type { ReactNode } from 'react'
import { paletteWords } from '../words/palette.ts'

export type Group = keyof typeof paletteWords.groups

export type Entry = {
  id: string
  group: Group
  label: string
  /** Further details, or the kind of the entry. */
  detail?: string
  icon?: ReactNode
  /** The keys that do the same. */
  keys?: readonly string[]
  /** Shown in place of the entries when this one is chosen; `run` is then not called. */
  step?: (close: () => void) => ReactNode
  run: () => void
}

/** Maximum number of entries shown. */
const MAX_ITEMS = 14
/** Maximum number of one group while nothing is typed. */
const MAX_OF_GROUP = 5

const GROUPS = Object.keys(paletteWords.groups) as Group[]

/**
 * Every word must be in the label, the detail or the name of the group; labels that start with the text come
 * first within their group, and the group with the best match comes first.
 */
export function fittingEntries(entries: readonly Entry[], typed: string): Entry[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean)
  const rank = ({ group, label, detail = '' }: Entry): number => {
    const name = label.toLowerCase()
    const all = `${label} ${detail} ${paletteWords.groups[group]}`.toLowerCase()
    if (!words.every(word => all.includes(word))) return 3
    if (words.length > 0 && name.startsWith(words[0] ?? '')) return 0
    return words.every(word => name.includes(word)) ? 1 : 2
  }
  const found = entries
    .map(entry => ({ entry, rank: rank(entry) }))
    .filter(({ rank }) => rank < 3)
    .toSorted((a, b) => a.rank - b.rank)
  const groups = GROUPS.map(group => found.filter(({ entry }) => entry.group === group))
  return groups
    .toSorted((a, b) => (words.length === 0 ? 0 : (a[0]?.rank ?? 3) - (b[0]?.rank ?? 3)))
    .flatMap(group => (words.length === 0 ? group.slice(0, MAX_OF_GROUP) : group))
    .slice(0, MAX_ITEMS)
    .map(({ entry }) => entry)
}
