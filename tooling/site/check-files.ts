/** Checks of the built site that need no browser: links, anchors, and what its pages load from elsewhere. */
import { readFileSync, readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** A built page by its route, `tune/` or `404.html`. */
export type BuiltPage = { route: string; path: string; html: string }

const ORIGIN = 'http://site.invalid'

const decode = (text: string): string =>
  text.replaceAll('&amp;', '&').replaceAll('&quot;', '"').replaceAll('&#x27;', "'").replaceAll('&#38;', '&')
const attributesOf = (html: string, pattern: RegExp): string[] =>
  [...html.matchAll(pattern)].map(([, value = '']) => decode(value))

export const readBuilt = (folder: string): { pages: BuiltPage[]; files: ReadonlySet<string> } => {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
  const pages = files
    .filter(path => path.endsWith('.html'))
    .map(path => ({
      route: path.replace(/(?<=^|\/)index\.html$/, ''),
      path,
      html: readFileSync(join(folder, path), 'utf8'),
    }))
  return { pages, files: new Set(files) }
}

/** Links to pages, anchors and files that do not exist, as `route: link`. */
export function deadLinks(pages: readonly Omit<BuiltPage, 'path'>[], files: ReadonlySet<string>): string[] {
  const anchors = new Map(
    pages.map(({ route, html }) => [route, new Set(attributesOf(html, /\sid="([^"]*)"/g))]),
  )
  const isDead = (route: string, link: string): boolean => {
    const url = new URL(link, `${ORIGIN}/${route}`)
    if (url.origin !== ORIGIN) return false
    const path = decodeURIComponent(url.pathname.slice(1))
    const ids = anchors.get(path)
    if (ids === undefined) return !files.has(path)
    const anchor = decodeURIComponent(url.hash.slice(1))
    return anchor !== '' && anchor !== '_top' && !ids.has(anchor)
  }
  return pages.flatMap(({ route, html }) =>
    [...new Set(attributesOf(html, /\s(?:href|src)="([^"]*)"/g))]
      .filter(link => isDead(route, link))
      .map(link => `/${route}: ${link}`),
  )
}

const LOADS = /<(?:script|img|source|iframe|video|audio|embed)\b[^>]*?\s(?:src|srcset)="([^"]*)"/g
const LINKED =
  /<link\b(?=[^>]*\brel="(?:stylesheet|preload|modulepreload|icon|shortcut icon|manifest)")[^>]*?\shref="([^"]*)"/g
const STYLED = /(?:@import\s+|url\()\s*["']?([^"')\s]+)/g
/** Style sheets in a page. Code that a page shows is escaped, so it contains no such element. */
const SHEETS = /<style\b[^>]*>([\s\S]*?)<\/style>/g
const isElsewhere = (link: string): boolean => /^(?:https?:)?\/\//.test(link)

/** What pages and style sheets load from another origin, as `route: link`. Links to follow do not count. */
export function loadsFromElsewhere(
  pages: readonly Omit<BuiltPage, 'path'>[],
  styles: readonly { route: string; css: string }[],
): string[] {
  const ofPages = pages.flatMap(({ route, html }) =>
    [...attributesOf(html, LOADS), ...attributesOf(html, LINKED)]
      .filter(isElsewhere)
      .map(link => `/${route}: ${link}`),
  )
  const sheets = pages.flatMap(({ route, html }) => attributesOf(html, SHEETS).map(css => ({ route, css })))
  const ofStyles = [...styles, ...sheets].flatMap(({ route, css }) =>
    attributesOf(css, STYLED)
      .filter(isElsewhere)
      .map(link => `/${route}: ${link}`),
  )
  return [...ofPages, ...ofStyles]
}
