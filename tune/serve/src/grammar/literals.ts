/** One of several texts, as a prefix tree: each byte has few alternatives. */
import { choice, inOrder, literal, sequence } from './expression.ts'
import type { Expression } from './grammar.ts'

const partsOf = (text: string): readonly Expression[] => {
  const whole = literal(text)
  return whole.kind === 'sequence' ? whole.parts : [whole]
}

/** Builds the prefix tree of lists that are equal up to `at`. Each byte has one shared expression. */
function tree(texts: readonly (readonly Expression[])[], at: number): Expression {
  const [first = []] = texts
  let end = at
  while (end < first.length && texts.every(text => text[end] === first[end])) end++
  const common = first.slice(at, end)
  if (texts.length === 1) return inOrder(common)
  const groups = new Map<Expression, (readonly Expression[])[]>()
  for (const text of texts) {
    const next = text[end]
    if (!next) continue
    const group = groups.get(next) ?? []
    group.push(text)
    groups.set(next, group)
  }
  const isWhole = texts.some(text => text.length === end)
  return inOrder([
    ...common,
    choice([...(isWhole ? [sequence()] : []), ...[...groups.values()].map(group => tree(group, end))]),
  ])
}

export const oneOf = (texts: readonly string[]): Expression =>
  texts.length === 0 ? choice([]) : tree([...new Set(texts)].map(partsOf), 0)
