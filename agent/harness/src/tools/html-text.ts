/**
 * Converts HTML to text for a model: headings, lists, links and tables keep their structure, scripts and
 * styles are removed.
 */
import { pageWriter } from './html-blocks.ts'
import { decodeEntities } from './html-entities.ts'
import { pieces } from './html-pieces.ts'

/** Elements whose content is not text of the page. */
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

/** Tracks the open elements without text. */
function droppedElements() {
  const open = new Map<string, number>()
  let depth = 0
  return {
    isWithin: (name?: string) => (name === undefined ? depth > 0 : open.has(name)),
    take(name: string, isClosing: boolean, attributes: string) {
      const count = open.get(name) ?? 0
      if (!isClosing && !attributes.endsWith('/')) {
        open.set(name, count + 1)
        depth += 1
      } else if (isClosing && count > 0) {
        if (count === 1) open.delete(name)
        else open.set(name, count - 1)
        depth -= 1
      }
    },
    clear() {
      open.clear()
      depth = 0
    },
  }
}

/** The text of a page and its title. Links are written `text (address)`, resolved against `base`. */
export function htmlToText(html: string, base: string): { title: string; text: string } {
  const page = pageWriter(base)
  const dropped = droppedElements()
  let title: string | undefined
  let isTitle = false
  for (const piece of pieces(html)) {
    if ('text' in piece) {
      if (isTitle) title ??= decodeEntities(piece.text).replace(/\s+/g, ' ').trim()
      else if (!dropped.isWithin()) page.say(piece.text)
      continue
    }
    const { name, isClosing, attributes } = piece
    isTitle = name === 'title' && !isClosing && !dropped.isWithin('svg')
    if (name === 'title') continue
    // A page that never closes its head still has a body.
    if (name === 'body' || (name === 'head' && isClosing)) dropped.clear()
    else if (DROPPED.has(name)) dropped.take(name, isClosing, attributes)
    else if (dropped.isWithin()) continue
    else if (isClosing) page.closeTag(name)
    else page.openTag(name, attributes)
  }
  return { title: title ?? '', text: page.text() }
}
