/** Splits a page into text and tags. */

const RAW = new Set(['script', 'style', 'textarea', 'title', 'noscript', 'iframe'])

type Tag = { name: string; isClosing: boolean; attributes: string }
type Piece = { text: string } | Tag

const isLetter = (char: string | undefined) => char !== undefined && /[a-zA-Z]/.test(char)

/**
 * Splits a page into text and tags in one pass: pages are untrusted, so the cost must be linear in their
 * length.
 */
export function* pieces(html: string): Generator<Piece> {
  // An attribute with an unclosed quote would swallow the page; from the first one on, quotes are ordinary
  // characters.
  let quotesCount = true
  const endOfTag = (from: number): number => {
    let quote = ''
    let previous = ''
    for (let at = from; at < html.length; at += 1) {
      const char = html[at] ?? ''
      if (quote !== '') {
        if (char === quote) quote = ''
      } else if (char === '>') return at
      else if (quotesCount && previous === '=' && (char === '"' || char === "'")) quote = char
      if (!/\s/.test(char)) previous = char
    }
    if (quote === '') return -1
    quotesCount = false
    return html.indexOf('>', from)
  }
  let textStart = 0
  let at = html.indexOf('<')
  while (at >= 0) {
    const isComment = html.startsWith('<!--', at)
    const isClosing = html[at + 1] === '/'
    const nameStart = isClosing ? at + 2 : at + 1
    const isTag = isLetter(html[nameStart])
    if (!isTag && html[at + 1] !== '!' && html[at + 1] !== '?') {
      at = html.indexOf('<', at + 1)
      continue
    }
    if (at > textStart) yield { text: html.slice(textStart, at) }
    const end = isComment ? html.indexOf('-->', at + 4) : isTag ? endOfTag(nameStart) : html.indexOf('>', at)
    if (end < 0) return
    textStart = end + (isComment ? 3 : 1)
    if (isTag) {
      const [name = ''] = /^[a-zA-Z][a-zA-Z0-9:-]{0,40}/.exec(html.slice(nameStart, nameStart + 42)) ?? []
      const tag = {
        name: name.toLowerCase(),
        isClosing,
        attributes: html.slice(nameStart + name.length, end),
      }
      yield tag
      if (!isClosing && RAW.has(tag.name)) {
        const close = new RegExp(`</${tag.name}\\b`, 'gi')
        close.lastIndex = textStart
        const stop = close.exec(html)?.index ?? html.length
        yield { text: html.slice(textStart, stop) }
        textStart = stop
      }
    }
    at = html.indexOf('<', textStart)
  }
  if (textStart < html.length) yield { text: html.slice(textStart) }
}
