/** The files of the widget: a small script for the host page, and the frame that it opens. */
import { readFileSync } from 'node:fs'

const TYPES = { js: 'text/javascript', css: 'text/css', html: 'text/html' } as const
const FILES = [
  'widget.js',
  'frame.js',
  'attach.js',
  'service.js',
  'markdown.js',
  'words.js',
  'frame.css',
] as const

const read = (name: string): string => readFileSync(new URL(`./static/${name}`, import.meta.url), 'utf8')
const texts = new Map<string, string>(FILES.map(name => [name, read(name)]))
const frame = read('frame.html')

/** Null if the file does not exist. */
export function assetOf(path: string): Response | null {
  const text = texts.get(path)
  if (text === undefined) return null
  const type = TYPES[path.slice(path.lastIndexOf('.') + 1) as keyof typeof TYPES]
  return new Response(text, {
    headers: { 'content-type': `${type}; charset=utf-8`, 'cache-control': 'public, max-age=300' },
  })
}

/** Only pages of the connection's origins may embed the frame. */
export function framePage(origins: readonly string[]): Response {
  const ancestors = origins.length === 0 ? "'none'" : origins.join(' ')
  const policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
    `base-uri 'none'; form-action 'none'; frame-ancestors ${ancestors}`
  return new Response(frame, {
    headers: {
      'content-type': `${TYPES.html}; charset=utf-8`,
      'content-security-policy': policy,
      'referrer-policy': 'no-referrer',
    },
  })
}
