/**
 * Parses terminal output into pieces of styled text: the colours and weights of SGR (ECMA-48, 8.3.117).
 * Styles that could hide text are ignored: concealment, backgrounds, and colours beyond the sixteen names.
 * Other control sequences stay in the text and are shown like every invisible character.
 */

export type Look = {
  colour: number | null
  bold: boolean
  faint: boolean
  italic: boolean
  underline: boolean
}
export type Styled = { text: string; look: Look }

const PLAIN: Look = { colour: null, bold: false, faint: false, italic: false, underline: false }
// oxlint-disable-next-line no-control-regex -- the sequences begin with one
const SGR = /\u001B\[([\d;]*)m/g

/** The text in pieces of one style each. */
export function ansiPieces(text: string): Styled[] {
  const pieces: Styled[] = []
  let look = PLAIN
  let at = 0
  for (const found of text.matchAll(SGR)) {
    if (found.index > at) pieces.push({ text: text.slice(at, found.index), look })
    look = after(look, found[1] ?? '')
    at = found.index + found[0].length
  }
  if (at < text.length) pieces.push({ text: text.slice(at), look })
  return pieces
}

function after(before: Look, parameters: string): Look {
  const codes = parameters.split(';').map(Number)
  let look = before
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i] ?? 0
    // 38 and 48 are followed by a colour: 5 and one number, or 2 and three.
    if (code === 38 || code === 48) i += codes[i + 1] === 5 ? 2 : 4
    else look = changed(look, code)
  }
  return look
}

function changed(look: Look, code: number): Look {
  if (code >= 30 && code <= 37) return { ...look, colour: code - 30 }
  if (code >= 90 && code <= 97) return { ...look, colour: code - 82 }
  switch (code) {
    case 0:
      return PLAIN
    case 1:
      return { ...look, bold: true }
    case 2:
      return { ...look, faint: true }
    case 3:
      return { ...look, italic: true }
    case 4:
      return { ...look, underline: true }
    case 22:
      return { ...look, bold: false, faint: false }
    case 23:
      return { ...look, italic: false }
    case 24:
      return { ...look, underline: false }
    case 39:
      return { ...look, colour: null }
    default:
      return look
  }
}
