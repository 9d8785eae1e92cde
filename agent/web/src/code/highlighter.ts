/** Syntax highlighting by highlight.js, loaded on first use. */
import { common, createLowlight } from 'lowlight'

const lowlight = createLowlight(common)
/** Highlighting longer code would block the page. */
const MAX_CHARS = 60_000

/** A token of highlighted code: text, or tokens with a class. */
export type Piece = string | { className: string; pieces: readonly Piece[] }
type Node = {
  type: string
  value?: string
  properties?: { className?: unknown }
  children?: readonly unknown[]
}

/** The highlighted tokens of `code`; null if the language is unknown or the code is too long. */
export function highlight(code: string, language: string): readonly Piece[] | null {
  if (code.length > MAX_CHARS || !lowlight.registered(language)) return null
  return lowlight.highlight(language, code).children.map(piece)
}

function piece(node: unknown): Piece {
  const { type, value = '', properties, children = [] } = node as Node
  if (type === 'text') return value
  const { className } = properties ?? {}
  return { className: Array.isArray(className) ? className.join(' ') : '', pieces: children.map(piece) }
}
