/**
 * Renders the model's Markdown as HTML for an email. HTML in the Markdown is dropped and images become links,
 * because an image that is fetched on opening would reveal the reader.
 */
import { sanitize } from 'hast-util-sanitize'
import { toHtml } from 'hast-util-to-html'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { type Handler, toHast } from 'mdast-util-to-hast'
import { gfm } from 'micromark-extension-gfm'

const image: Handler = (_state, node: { url: string; alt?: string | null }) => ({
  type: 'element',
  tagName: 'a',
  properties: { href: node.url },
  children: [{ type: 'text', value: node.alt || node.url }],
})

const STYLES: Record<string, string> = {
  table: 'border-collapse: collapse',
  th: 'border: 1px solid #999; padding: 4px 8px; text-align: left',
  td: 'border: 1px solid #999; padding: 4px 8px; text-align: left',
  pre: 'background: #f4f4f4; color: #111; padding: 8px; white-space: pre-wrap',
  blockquote: 'border-left: 3px solid #999; margin: 0; padding-left: 8px',
}

type Nodes = ReturnType<typeof sanitize>

/** Inline styles, because many email programs ignore style sheets. */
function style(node: Nodes): Nodes {
  if (node.type === 'element') {
    const given = STYLES[node.tagName]
    if (given !== undefined) node.properties = { ...node.properties, style: given }
  }
  if ('children' in node) for (const child of node.children) style(child)
  return node
}

export function htmlOf(markdown: string): string {
  const tree = fromMarkdown(markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
  const hast = toHast(tree, { handlers: { image, imageReference: image } })
  return toHtml(style(sanitize(hast)))
}

export const paragraph = (text: string): string =>
  toHtml({ type: 'element', tagName: 'p', properties: {}, children: [{ type: 'text', value: text }] })
