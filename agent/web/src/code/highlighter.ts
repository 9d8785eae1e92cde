/** Colours for code, by highlight.js. Loaded with the first code that is shown. */
import { common, createLowlight } from 'lowlight'

const lowlight = createLowlight(common)
/** Colouring longer code would hold up the page. */
const MAX_CHARS = 60_000

/** Code as coloured pieces: text, or text that has a class. */
export type Piece = string | { className: string; pieces: readonly Piece[] }
type Node = {
  type: string
  value?: string
  properties?: { className?: unknown }
  children?: readonly unknown[]
}

/** The pieces of `code`; null where its language is not known, or it is too long. */
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
