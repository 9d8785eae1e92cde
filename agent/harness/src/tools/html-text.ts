/**
 * HTML as text a model can read: headings, lists, links and tables keep their shape, scripts and styles go.
 */

const ENTITIES: Record<string, string> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: ' ',
  ensp: ' ',
  emsp: ' ',
  thinsp: ' ',
  copy: '©',
  reg: '®',
  trade: '™',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  lsquo: '‘',
  rsquo: '’',
  ldquo: '“',
  rdquo: '”',
  laquo: '«',
  raquo: '»',
  bull: '•',
  middot: '·',
  times: '×',
  deg: '°',
  para: '¶',
  sect: '§',
  euro: '€',
  pound: '£',
  yen: '¥',
  cent: '¢',
  larr: '←',
  rarr: '→',
  uarr: '↑',
  darr: '↓',
  shy: '',
  zwnj: '',
  zwj: '',
  auml: 'ä',
  ouml: 'ö',
  uuml: 'ü',
  Auml: 'Ä',
  Ouml: 'Ö',
  Uuml: 'Ü',
  szlig: 'ß',
  eacute: 'é',
  egrave: 'è',
  agrave: 'à',
  aacute: 'á',
  ccedil: 'ç',
  ntilde: 'ñ',
  oacute: 'ó',
  iacute: 'í',
  uacute: 'ú',
  ecirc: 'ê',
  acirc: 'â',
  ocirc: 'ô',
  le: '≤',
  ge: '≥',
  ne: '≠',
  minus: '−',
}

function decodeEntities(text: string): string {
  return text.replace(
    /&(?:#(\d{1,7})|#[xX]([0-9a-fA-F]{1,6})|([A-Za-z][A-Za-z0-9]{1,30}));/g,
    (whole, decimal?: string, hex?: string, name?: string) => {
      if (name !== undefined) return Object.hasOwn(ENTITIES, name) ? (ENTITIES[name] ?? whole) : whole
      const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal)
      return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff)
        ? String.fromCodePoint(code)
        : '\ufffd'
    },
  )
}

/** Elements whose content is no text of the page. */
const DROPPED = new Set([
  'script',
  'style',
  'noscript',
  'template',
  'svg',
  'math',
  'iframe',
  'object',
  'head',
  'select',
  'dialog',
])
const RAW = new Set(['script', 'style', 'textarea', 'title', 'noscript', 'iframe'])
const BLOCKS = new Set([
  'p',
  'section',
  'article',
  'header',
  'footer',
  'main',
  'aside',
  'nav',
  'table',
  'dl',
  'blockquote',
  'figure',
  'figcaption',
  'form',
  'fieldset',
  'address',
])
const LINES = new Set(['div', 'tr', 'dt', 'dd', 'li'])
const MAX_INDENT = 8

type Tag = { name: string; isClosing: boolean; attributes: string }
type Piece = { text: string } | Tag

const isLetter = (char: string | undefined) => char !== undefined && /[a-zA-Z]/.test(char)

/**
 * Cuts a page into text and tags, in one pass: pages come from strangers, and none may cost more than its
 * length.
 */
function* pieces(html: string): Generator<Piece> {
  // An attribute whose quote is never closed would swallow the page; from the first one on, quotes are
  // letters.
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

function attribute(attributes: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(
    attributes.slice(0, 10_000),
  )
  const value = match?.[1] ?? match?.[2] ?? match?.[3]
  return value === undefined ? undefined : decodeEntities(value).trim()
}

/** Text under construction: spaces and line ends are remembered, and written only when text follows. */
function textWriter() {
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
    /** Prose: runs of white space are one space. */
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

/** The text of a page and its title. Links are written `text (address)`, resolved against `base`. */
export function htmlToText(html: string, base: string): { title: string; text: string } {
  const out = textWriter()
  const links: { start: number; href: string }[] = []
  const lists: ('ul' | number)[] = []
  const dropped = new Map<string, number>()
  let droppedDepth = 0
  let pre = 0
  let title: string | undefined
  let isTitle = false

  const openTag = (name: string, attributes: string) => {
    if (name === 'br') out.breakLine(1)
    else if (name === 'hr') {
      out.breakLine(2)
      out.put('---')
      out.breakLine(2)
    } else if (/^h[1-6]$/.test(name)) {
      out.breakLine(2)
      out.put('#'.repeat(Number(name[1])) + ' ')
    } else if (name === 'ul' || name === 'ol') {
      out.breakLine(lists.length > 0 ? 1 : 2)
      lists.push(name === 'ul' ? 'ul' : 1)
    } else if (name === 'li') {
      out.breakLine(1)
      const list = lists.at(-1)
      out.put(
        '  '.repeat(Math.min(MAX_INDENT, Math.max(0, lists.length - 1))) +
          (typeof list === 'number' ? `${list}. ` : '- '),
      )
      if (typeof list === 'number') lists[lists.length - 1] = list + 1
    } else if (name === 'td' || name === 'th') {
      if (!out.isAtLineStart()) out.put(' | ')
    } else if (name === 'pre') {
      out.breakLine(2)
      out.put('```\n')
      pre += 1
    } else if (name === 'code' && pre === 0) out.say('`')
    else if (name === 'img') {
      const alt = attribute(attributes, 'alt')
      if (alt) out.say(`[image: ${alt}]`)
    } else if (name === 'a') links.push({ start: out.length(), href: attribute(attributes, 'href') ?? '' })
    else if (BLOCKS.has(name)) out.breakLine(2)
    else if (LINES.has(name)) out.breakLine(1)
  }
  const closeTag = (name: string) => {
    if (name === 'ul' || name === 'ol') {
      lists.pop()
      out.breakLine(lists.length > 0 ? 1 : 2)
    } else if (name === 'pre' && pre > 0) {
      pre -= 1
      out.put('\n```')
      out.breakLine(2)
    } else if (name === 'code' && pre === 0) out.put('`')
    else if (name === 'a') {
      const link = links.pop()
      if (
        link === undefined ||
        link.href === '' ||
        link.href.startsWith('#') ||
        !URL.canParse(link.href, base)
      )
        return
      const address = new URL(link.href, base).href
      const text = out.since(link.start)
      if (/^https?:/.test(address) && text !== '' && text !== address) out.put(` (${address})`)
    } else if (BLOCKS.has(name) || /^h[1-6]$/.test(name)) out.breakLine(2)
    else if (LINES.has(name)) out.breakLine(1)
  }

  for (const piece of pieces(html)) {
    if ('text' in piece) {
      if (isTitle) title ??= decodeEntities(piece.text).replace(/\s+/g, ' ').trim()
      else if (droppedDepth === 0) {
        if (pre > 0) out.put(decodeEntities(piece.text))
        else out.say(decodeEntities(piece.text))
      }
      continue
    }
    const { name, isClosing, attributes } = piece
    isTitle = name === 'title' && !isClosing && !dropped.has('svg')
    if (name === 'title') continue
    // A page that never closes its head still has a body.
    if (name === 'body' || (name === 'head' && isClosing)) {
      dropped.clear()
      droppedDepth = 0
      continue
    }
    if (DROPPED.has(name)) {
      const open = dropped.get(name) ?? 0
      if (!isClosing && !attributes.endsWith('/')) {
        dropped.set(name, open + 1)
        droppedDepth += 1
      } else if (isClosing && open > 0) {
        if (open === 1) dropped.delete(name)
        else dropped.set(name, open - 1)
        droppedDepth -= 1
      }
      continue
    }
    if (droppedDepth > 0) continue
    if (isClosing) closeTag(name)
    else openTag(name, attributes)
  }
  return { title: title ?? '', text: out.text().trim() }
}
