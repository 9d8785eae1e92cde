/**
 * Folding many events without copying a list for each. A fold may change lists that it created itself in
 * place, because no one else has a reference to them; from outside it is a pure function of the state and the
 * events.
 */

/** Lists created within one fold of many events. Null when every event is folded separately. */
export type Owned = WeakSet<readonly unknown[]> | null

/** The list with the items appended: a copy, unless this fold created the list. */
export function append<T>(list: readonly T[], items: readonly T[], owned: Owned): readonly T[] {
  if (items.length === 0) return list
  if (owned?.has(list) === true) {
    for (const item of items) (list as T[]).push(item)
    return list
  }
  const copy = [...list, ...items]
  owned?.add(copy)
  return copy
}

/** The list with its newest matching item replaced; the list itself if none matches. */
export function changeLast<T>(
  list: readonly T[],
  fits: (item: T) => boolean,
  change: (item: T) => T,
  owned: Owned,
): readonly T[] {
  const at = list.findLastIndex(fits)
  if (at === -1) return list
  const changed = change(list[at] as T)
  if (owned?.has(list) === true) {
    ;(list as T[])[at] = changed
    return list
  }
  const copy = list.with(at, changed)
  owned?.add(copy)
  return copy
}
