/** Combines the documents of several data sets by their shares. */
import { selectFrom, type DocumentList } from './document-store.ts'

/** Lists end to end. */
function concatenate(lists: readonly DocumentList[]): DocumentList {
  const starts = [0]
  for (const { length } of lists) starts.push((starts.at(-1) ?? 0) + length)
  const find = (index: number): [DocumentList | undefined, number] => {
    const which = starts.findLastIndex(start => start <= index)
    return [lists[which], index - (starts[which] ?? 0)]
  }
  return {
    length: starts.at(-1) ?? 0,
    at(index) {
      const [list, own] = find(index)
      return list?.at(own)
    },
    lengthOf(index) {
      const [list, own] = find(index)
      return list?.lengthOf(own) ?? 0
    },
  }
}

/**
 * Number of documents that each set contributes to an epoch. Without weights, each document is seen once.
 * Weights are the shares of the sets, and no document is left out: the set that is largest for its share is
 * seen once, and the others repeat from their start.
 */
export function countsByShare(sizes: readonly number[], weights: readonly (number | undefined)[]): number[] {
  const given = weights.filter(weight => weight !== undefined)
  if (given.length < sizes.length) return [...sizes]
  const sum = given.reduce((total, weight) => total + weight, 0)
  const epoch = Math.max(...sizes.map((size, i) => (size * sum) / (given[i] ?? sum)))
  return sizes.map((size, i) => Math.max(size, Math.round((epoch * (given[i] ?? 0)) / sum)))
}

/** The documents of an epoch: those of the first set, then those of the next. */
export function mixDocuments(lists: readonly DocumentList[], counts: readonly number[]): DocumentList {
  return concatenate(
    lists.map((list, i) => {
      const count = counts[i] ?? list.length
      return count === list.length
        ? list
        : selectFrom(
            list,
            Int32Array.from({ length: count }, (_, at) => at % list.length),
          )
    }),
  )
}
