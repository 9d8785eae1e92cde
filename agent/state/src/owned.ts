/**
 * Folding many events at once without copying a list for each of them. Nobody else has seen the lists that
 * such a fold has made itself, so it may change them in place; from outside it is a pure function of the
 * state and the events.
 */

/** Lists made within one fold of many events. Null where every event is a fold of its own. */
export type Owned = WeakSet<readonly unknown[]> | null

/** The list with the items behind it: a copy, unless this fold made the list. */
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

/** The list with the newest item that fits in another form; the list itself where none fits. */
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
