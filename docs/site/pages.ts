/**
 * Turns the Markdown pages of docs/ into pages of the site: their routes, titles, links and the sidebar.
 * Pure: prepare.ts reads and writes the files. Paths are relative to docs/ and use slashes.
 */
import { posix } from 'node:path'

/** Pages outside docs/ that the site has, by path, with the path that they get. */
export const PAGES_ELSEWHERE: Readonly<Record<string, string>> = { '../CHANGELOG.md': 'changelog.md' }

/** `install.md` → `install/`, `tune/README.md` → `tune/`, `README.md` → the start page. */
export function routeOf(path: string): string {
  const name = path.replace(/\.md$/, '')
  const route = posix.basename(name) === 'README' ? posix.dirname(name) : name
  return route === '.' ? '' : `${route}/`
}

/** Code keeps its text, and its brackets are not links. */
const CODE = /^( *)(`{3,}|~{3,})[^\n]*\n[\s\S]*?^\1\2[^\n]*$|`[^`\n]+`/gm

/** Applies `change` to the text between pieces of code, which stand as one private character each. */
function outsideCode(text: string, change: (prose: string) => string): string {
  const code: string[] = []
  const prose = text.replace(CODE, piece => {
    code.push(piece)
    return `\uE000${code.length - 1}\uE001`
  })
  return change(prose).replaceAll(/\uE000(\d+)\uE001/g, (_, at: string) => code[Number(at)] ?? '')
}

const LINK = /(!?)\[([^\]]*)\]\(([^)\s]+)\)/g

/** The text of a heading without marks of Markdown, for a title or a label. */
const plain = (markdown: string): string => markdown.replace(LINK, '$2').replaceAll(/[`*]/g, '').trim()

/** What a link of a page refers to. A `file` is copied beside the pages. `source` is not on the site. */
type Target =
  | { kind: 'elsewhere' }
  | { kind: 'page'; route: string; hash: string }
  | { kind: 'file'; path: string }
  | { kind: 'source' }

function targetOf(from: string, link: string, pages: ReadonlySet<string>): Target {
  if (/^(?:[a-z][a-z+.-]*:|#)/i.test(link)) return { kind: 'elsewhere' }
  const [target = '', anchor] = link.split('#')
  const hash = anchor === undefined ? '' : `#${anchor}`
  const path = posix.join(posix.dirname(from), target).replace(/^\.\.\/docs\//, '')
  const page = PAGES_ELSEWHERE[path] ?? (path.endsWith('/') ? `${path}README.md` : path)
  // A page that does not exist keeps its link, and the check of the built site names it.
  if (pages.has(page) || /^(?!\.\.).*\.md$/.test(path)) return { kind: 'page', route: routeOf(page), hash }
  return path.startsWith('../') ? { kind: 'source' } : { kind: 'file', path }
}

/** A link from one route to a file or another route. Relative, so that the site works below any path. */
function relativeTo(route: string, to: string): string {
  const path = posix.relative(`/${route}`, `/${to}`)
  return to === '' || to.endsWith('/') ? `${path === '' ? '.' : path}/` : path
}

export type SitePage = {
  /** Path of the page below the folder of the content. */
  path: string
  title: string
  text: string
  /** Files of docs/ that the page links, and pictures that it shows. */
  files: readonly string[]
  pictures: readonly string[]
}

/**
 * A page for the generator: front matter, then the text with routes for links. `source` is the path of its
 * file where that differs.
 */
export function sitePage(
  path: string,
  markdown: string,
  pages: ReadonlySet<string>,
  source: string = path,
): SitePage {
  const heading = /^# (.+)$/m.exec(markdown.replace(CODE, code => code.replaceAll(/[^\n`]/g, ' ')))
  if (heading === null) throw new Error(`[site] docs/${path} has no heading "# …", which becomes its title`)
  const line = markdown.slice(heading.index).split('\n', 1)[0] ?? ''
  const title = plain(line.slice(2))
  const body = markdown.slice(0, heading.index) + markdown.slice(heading.index + line.length)
  const [files, pictures]: [string[], string[]] = [[], []]
  const text = outsideCode(body, prose =>
    prose.replace(LINK, (whole, mark: string, words: string, link: string) => {
      const target = targetOf(source, link, pages)
      switch (target.kind) {
        case 'elsewhere':
          return whole
        case 'page':
          return `[${words}](${relativeTo(routeOf(path), target.route)}${target.hash})`
        case 'source':
          return words
        case 'file':
          if (mark === '!') pictures.push(target.path)
          else files.push(target.path)
          return mark === '!' ? whole : `[${words}](${relativeTo(routeOf(path), target.path)})`
      }
    }),
  )
  const described = /^\*[A-Z][\w-]*\. (For [^*]+)\*$/m.exec(body)?.[1]
  const front = [
    `title: ${JSON.stringify(title)}`,
    ...(described === undefined ? [] : [`description: ${JSON.stringify(described.replaceAll('\n', ' '))}`]),
  ]
  return {
    path: path.replace(/README\.md$/, 'index.md'),
    title,
    text: `---\n${front.join('\n')}\n---\n${text}`,
    files,
    pictures,
  }
}

/** A page that lists the pages of a folder, for a folder that docs/README.md links and that has none. */
export function folderPage(title: string, entries: readonly { path: string; title: string }[]): string {
  const list = entries.map(entry => `- [${entry.title}](${posix.basename(entry.path)})`)
  return [`# ${title}`, '', ...list, ''].join('\n')
}

export type SidebarItem =
  { label: string; link: string } | { label: string; collapsed: boolean; items: SidebarItem[] }

/**
 * The sidebar from docs/README.md: a group for each `##`, a group in it for each `###`, and an item for each
 * link in a list or a table. A link to a folder becomes a group of its pages. Every page occurs once.
 */
export function sidebarOf(readme: string, titles: ReadonlyMap<string, string>): SidebarItem[] {
  const pages = new Set(titles.keys())
  const seen = new Set<string>()
  const groups: { label: string; collapsed: boolean; items: SidebarItem[] }[] = []
  let items: SidebarItem[] | undefined
  const open = (label: string, into: SidebarItem[]): SidebarItem[] => {
    const group = { label: plain(label), collapsed: into.length > 0, items: [] }
    into.push(group)
    return group.items
  }
  for (const line of readme.split('\n')) {
    const [, marks = '', label = ''] = /^(##|###) (.+)$/.exec(line) ?? []
    if (marks === '##') items = open(label, groups)
    if (marks === '###') items = open(label, groups.at(-1)?.items ?? groups)
    if (marks !== '' || items === undefined || !/^(?:[-|]| {2})/.test(line)) continue
    for (const [, , words = '', link = ''] of line.matchAll(LINK)) {
      const target = targetOf('README.md', link, pages)
      if (target.kind !== 'page' || seen.has(target.route)) continue
      seen.add(target.route)
      const inFolder = link.endsWith('/')
        ? [...titles].filter(([path]) => path.startsWith(link) && path !== `${link}README.md`)
        : []
      const item = { label: plain(words), link: `/${target.route}` }
      if (inFolder.length === 0) items.push(item)
      else
        items.push({
          label: item.label,
          collapsed: true,
          items: inFolder.map(([path, title]) => ({ label: title, link: `/${routeOf(path)}` })),
        })
    }
  }
  return groups
}
