/** Builds text: pending spaces and line ends are written only when text follows. */

export function textWriter() {
  const parts: string[] = []
  let lineEnds = 0
  let space = false
  const put = (text: string) => {
    if (parts.length > 0 && lineEnds > 0) parts.push('\n'.repeat(lineEnds))
    else if (parts.length > 0 && space) parts.push(' ')
    lineEnds = 0
    space = false
    parts.push(text)
  }
  return {
    put,
    /** Prose: runs of white space become one space. */
    say(text: string) {
      const folded = text.replace(/[ \t\r\n\f\u00a0]+/g, ' ')
      if (folded.startsWith(' ')) space = true
      const words = folded.trim()
      if (words === '') return
      put(words)
      space = folded.endsWith(' ')
    },
    breakLine(count: number) {
      lineEnds = Math.max(lineEnds, count)
    },
    isAtLineStart: () => parts.length === 0 || lineEnds > 0,
    length: () => parts.length,
    since: (start: number) => (parts.length - start > 4 ? null : parts.slice(start).join('').trim()),
    text: () => parts.join(''),
  }
}
