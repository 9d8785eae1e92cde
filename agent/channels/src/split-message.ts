/** Splits text into parts within a limit: between blocks, then lines, then words, then code points. */

const BORDERS = [/\n{2,}/g, /\n/g, /(?<=[.!?])\s+/g, /\s+/g]
/** Space for a code fence that is closed in one part and reopened in the next. */
const FENCE_ROOM = 40

/**
 * The parts concatenate to the text, except that a code block which is split is closed and reopened in its
 * language.
 */
export function splitMessage(text: string, limit: number): string[] {
  if (text.length <= limit) return text === '' ? [] : [text]
  const parts: string[] = []
  let rest = text
  let fence: string | null = null
  while (rest !== '') {
    const opened = fence === null ? '' : `${fence}\n`
    const room = limit - opened.length
    const taken: string = rest.length <= room ? rest : rest.slice(0, borderBefore(rest, room - FENCE_ROOM))
    rest = rest.slice(taken.length)
    fence = openFence(fence, taken)
    parts.push(
      opened + taken + (fence !== null && rest !== '' ? `${taken.endsWith('\n') ? '' : '\n'}\`\`\`` : ''),
    )
  }
  return parts
}

function borderBefore(text: string, limit: number): number {
  for (const border of BORDERS) {
    let last = 0
    for (const found of text.slice(0, limit + 1).matchAll(border)) {
      const end = found.index + found[0].length
      if (end <= limit) last = end
    }
    if (last > limit / 4) return last
  }
  // Never inside a surrogate pair.
  const code = text.charCodeAt(limit - 1)
  return code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit
}

/** The code fence that is open at the end of a text, given the one at its start. */
function openFence(before: string | null, text: string): string | null {
  let open = before
  for (const line of text.split('\n')) {
    const found = /^\s{0,3}(```[\w+-]{0,20})\s*$/.exec(line)
    if (found) open = open === null ? (found[1] as string) : null
  }
  return open
}
