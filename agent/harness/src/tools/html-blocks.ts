/** The text form of each element of a page: headings, lists, links, tables, code. */
import { decodeEntities } from './html-entities.ts'
import { textWriter } from './text-writer.ts'

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

function attribute(attributes: string, name: string): string | undefined {
  const match = new RegExp(`(?:^|\\s)${name}\\s*=\\s*(?:"([^"]*)"|'([^']*)'|([^\\s"'>]+))`, 'i').exec(
    attributes.slice(0, 10_000),
  )
  const value = match?.[1] ?? match?.[2] ?? match?.[3]
  return value === undefined ? undefined : decodeEntities(value).trim()
}

export type PageWriter = {
  openTag(name: string, attributes: string): void
  closeTag(name: string): void
  say(text: string): void
  text(): string
}

/** Links are written `text (address)`, resolved against `base`. */
export function pageWriter(base: string): PageWriter {
  const out = textWriter()
  const links: { start: number; href: string }[] = []
  const lists: ('ul' | number)[] = []
  let pre = 0

  const openItem = () => {
    const list = lists.at(-1)
    out.breakLine(1)
    out.put(
      '  '.repeat(Math.min(MAX_INDENT, Math.max(0, lists.length - 1))) +
        (typeof list === 'number' ? `${list}. ` : '- '),
    )
    if (typeof list === 'number') lists[lists.length - 1] = list + 1
  }
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
    } else if (name === 'li') openItem()
    else if (name === 'td' || name === 'th') {
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
      const address = link && addressOf(link.href, base)
      const text = link && out.since(link.start)
      if (address && text !== '' && text !== address) out.put(` (${address})`)
    } else if (BLOCKS.has(name) || /^h[1-6]$/.test(name)) out.breakLine(2)
    else if (LINES.has(name)) out.breakLine(1)
  }

  return {
    openTag,
    closeTag,
    say: text => (pre > 0 ? out.put(decodeEntities(text)) : out.say(decodeEntities(text))),
    text: () => out.text().trim(),
  }
}

/** Null if the link does not lead to another page. */
function addressOf(href: string, base: string): string | null {
  if (href === '' || href.startsWith('#') || !URL.canParse(href, base)) return null
  const address = new URL(href, base).href
  return /^https?:/.test(address) ? address : null
}
