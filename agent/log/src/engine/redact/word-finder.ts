/**
 * Finds which of many words a text contains, in one pass (Aho-Corasick): one step per character, however many
 * words there are. It precedes the redactor's regular expressions, because few texts contain one.
 */

/**
 * One column per character. All non-ASCII characters share the last, so there are false positives but no
 * misses.
 */
const COLUMNS = 128
const columnOf = (code: number): number => (code < COLUMNS ? code : COLUMNS - 1)

/** Checks the surroundings of a match; `end` is the position after the word. */
type Confirm = (text: string, end: number) => boolean
/** `mask` is returned if the word is found and, where `confirm` is given, confirmed; words may share bits. */
export type Word = readonly [word: string, mask: number, confirm?: Confirm]

type Asked = { mask: number; confirm: Confirm }
type Node = { id: number; children: Map<number, Node>; mask: number; asked: readonly Asked[] }
const isHit = ({ mask, asked }: Node): boolean => mask !== 0 || asked.length > 0

/** Returns the bits of all words that a text contains. */
export function createWordFinder(words: readonly Word[]): (text: string) => number {
  const nodes: Node[] = []
  const addNode = (): Node => {
    const node: Node = { id: nodes.length, children: new Map(), mask: 0, asked: [] }
    nodes.push(node)
    return node
  }
  const root = addNode()
  for (const [word, mask, confirm] of words) {
    let node = root
    for (let at = 0; at < word.length; at++) {
      const column = columnOf(word.charCodeAt(at))
      const next = node.children.get(column) ?? addNode()
      node.children.set(column, next)
      node = next
    }
    if (confirm === undefined) node.mask |= mask
    else node.asked = [...node.asked, { mask, confirm }]
  }

  // The transition of each node for each character; breadth first, so that the row of a node's fallback
  // exists before it is needed.
  const rows = new Int32Array(nodes.length * COLUMNS)
  const queue: [node: Node, fallback: Node][] = [[root, root]]
  for (const [node, fallback] of queue) {
    node.mask |= fallback.mask
    node.asked = [...node.asked, ...fallback.asked]
    const row = node.id * COLUMNS
    if (node !== root) rows.copyWithin(row, fallback.id * COLUMNS, (fallback.id + 1) * COLUMNS)
    for (const [column, child] of node.children) {
      queue.push([child, nodes[rows[row + column] as number] as Node])
      rows[row + column] = child.id
    }
  }

  // A state is the offset of its row; accepting states come last, so that one comparison finds them.
  const ordered = nodes.toSorted((a, b) => Number(isHit(a)) - Number(isHit(b)))
  const offsets = new Int32Array(nodes.length)
  for (const [at, node] of ordered.entries()) offsets[node.id] = at * COLUMNS
  const next = new Int32Array(rows.length)
  for (const [at, node] of ordered.entries())
    for (let column = 0; column < COLUMNS; column++)
      next[at * COLUMNS + column] = offsets[rows[node.id * COLUMNS + column] as number] as number
  const masks = ordered.map(node => node.mask)
  const asked = ordered.map(node => (node.asked.length === 0 ? null : node.asked))
  const firstHit = ordered.findIndex(isHit) * COLUMNS
  const start = offsets[root.id] as number

  return text => {
    let state = start
    let mask = 0
    for (let at = 0; at < text.length; at++) {
      state = next[state + columnOf(text.charCodeAt(at))] as number
      if (state < firstHit) continue
      const hit = state / COLUMNS
      mask |= masks[hit] as number
      const toAsk = asked[hit]
      if (toAsk) mask |= ask(toAsk, text, at + 1, mask)
    }
    return mask
  }
}

function ask(asked: readonly Asked[], text: string, end: number, known: number): number {
  let mask = 0
  for (let at = 0; at < asked.length; at++) {
    const each = asked[at] as Asked
    if ((known & each.mask) !== each.mask && each.confirm(text, end)) mask |= each.mask
  }
  return mask
}
