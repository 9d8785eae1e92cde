/** Cuts a text into parts of a limit: between blocks, then lines, then words, then code points. */

const BORDERS = [/\n{2,}/g, /\n/g, /(?<=[.!?])\s+/g, /\s+/g]
/** Room for the fence that is closed in one part and opened again in the next. */
const FENCE_ROOM = 40

/** Joined, the parts are the text; a code block that is cut is closed, and opened again in its language. */
export function cutText(text: string, limit: number): string[] {
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
  // Not inside of a pair of surrogates.
  const code = text.charCodeAt(limit - 1)
  return code >= 0xd800 && code <= 0xdbff ? limit - 1 : limit
}

/** The fence that is open at the end of a text, given the one at its beginning. */
function openFence(before: string | null, text: string): string | null {
  let open = before
  for (const line of text.split('\n')) {
    const found = /^\s{0,3}(```[\w+-]{0,20})\s*$/.exec(line)
    if (found) open = open === null ? (found[1] as string) : null
  }
  return open
}
