/**
 * Converts HTML to text for a model: headings, lists, links, tables and code keep their structure, scripts
 * and styles are removed.
 */
import {
  convert,
  type DomNode,
  type FormatCallback,
  type HtmlToTextOptions,
  type SelectorDefinition,
} from 'html-to-text'

/** Elements whose content is not text of the page. */
const DROPPED = 'script style noscript template svg math iframe object head title select dialog'.split(' ')
const BLOCKS = ['dl', 'figure', 'figcaption', 'fieldset', 'address']
const LINES = ['tr', 'dt', 'dd', 'li']
/** Deeper elements are left out: what an element costs grows with its depth. */
const MAX_DEPTH = 256
/** Characters in which the title is searched. */
const TITLE_WITHIN = 64 * 1024

/** Null if the link does not lead to another page. */
function addressOf(href: string, base: string): string | null {
  if (href === '' || href.startsWith('#') || !URL.canParse(href, base)) return null
  const address = new URL(href, base).href
  return /^https?:/.test(address) ? address : null
}

const heading: FormatCallback = (elem, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2 })
  builder.addInline(`${'#'.repeat(Number(elem.name?.[1]))} `)
  walk(elem.children, builder)
  builder.closeBlock({ trailingLineBreaks: 2 })
}

const fence: FormatCallback = (elem, walk, builder) => {
  builder.openBlock({ leadingLineBreaks: 2, isPre: true })
  builder.addLiteral('```\n')
  walk(elem.children, builder)
  builder.addLiteral('\n```')
  builder.closeBlock({ trailingLineBreaks: 2 })
}

const cell: FormatCallback = (elem, walk, builder) => {
  if (!isFirstTag(elem)) builder.addInline(' | ')
  walk(elem.children, builder)
}

/** The types of the library lack the siblings of its nodes. */
type Sibling = DomNode & { prev?: Sibling | null }

function isFirstTag(elem: Sibling): boolean {
  let before = elem.prev
  while (before && before.type !== 'tag') before = before.prev
  return !before
}

const image: FormatCallback = ({ attribs }, _, builder) => {
  const alt = attribs?.['alt']?.trim()
  if (alt) builder.addInline(`[image: ${alt}]`)
}

/** Numbers only: the library fails on Roman numbers from 4000. */
const numbered: FormatCallback = (elem, walk, builder, options) => {
  delete elem.attribs?.['type']
  builder.options.formatters?.['orderedList']?.(elem, walk, builder, options)
}

const each = (names: readonly string[], rest: Omit<SelectorDefinition, 'selector'>): SelectorDefinition[] =>
  names.map(selector => ({ selector, ...rest }))

/** `base` is passed along for the addresses of links. */
const TEXT: HtmlToTextOptions = {
  wordwrap: false,
  limits: { maxDepth: MAX_DEPTH, ellipsis: '…' },
  formatters: { heading, fence, cell, image, numbered },
  selectors: [
    ...each(DROPPED, { format: 'skip' }),
    ...each(BLOCKS, { format: 'block' }),
    ...each(LINES, { format: 'block', options: { leadingLineBreaks: 1, trailingLineBreaks: 1 } }),
    ...each(['h1', 'h2', 'h3', 'h4', 'h5', 'h6'], { format: 'heading' }),
    ...each(['td', 'th'], { format: 'cell' }),
    ...each(['td > p', 'td > div', 'th > p', 'th > div'], { format: 'inline' }),
    { selector: 'pre', format: 'fence' },
    { selector: 'code', format: 'inlineSurround', options: { prefix: '`', suffix: '`' } },
    { selector: 'pre > code', format: 'inline' },
    { selector: 'ul', options: { itemPrefix: '- ' } },
    { selector: 'ol', format: 'numbered' },
    { selector: 'hr', options: { length: 3 } },
    { selector: 'img', format: 'image' },
    {
      selector: 'a',
      options: {
        linkBrackets: ['(', ')'],
        hideLinkHrefIfSameAsText: true,
        pathRewrite: (href: string, base: string) => addressOf(href, base) ?? '',
      },
    },
    // The library would take it for a relative address.
    { selector: 'a[href^="mailto:"]', format: 'inline' },
  ],
}
const TITLE: HtmlToTextOptions = {
  wordwrap: false,
  baseElements: { selectors: ['title', 'svg'], orderBy: 'occurrence', returnDomByDefault: false },
  limits: { maxDepth: MAX_DEPTH },
  selectors: [
    { selector: 'title', format: 'block' },
    { selector: 'svg', format: 'skip' },
  ],
}

/** The text of a page and its title. Links are written `text (address)`, resolved against `base`. */
export function htmlToText(html: string, base: string): { title: string; text: string } {
  const [title = ''] = convert(html.slice(0, TITLE_WITHIN), TITLE).split('\n')
  return { title, text: convert(html, TEXT, base).trim() }
}
