/**
 * Assembles the project of the site's generator in a folder: the files of docs/site, the pages of docs/ as
 * its content, and the sidebar. Nothing is written into docs/, and its Markdown does not depend on the
 * generator.
 */
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { folderPage, PAGES_ELSEWHERE, sidebarOf, sitePage } from './pages.ts'

const here = fileURLToPath(new URL('.', import.meta.url))
const docs = join(here, '..')

/** Files of docs/site that the generator reads. */
const PROJECT = ['package.json', 'package-lock.json', 'astro.config.mjs', 'src']

/** Paths of the pages below docs/, by name. The folder of this file contains none. */
const listPages = (): string[] =>
  readdirSync(docs, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile() && entry.name.endsWith('.md'))
    .map(entry => relative(docs, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .filter(path => !path.startsWith('site/'))
    .toSorted()

/** Every page with its Markdown, and an index for the decisions, whose folder has none. */
function readPages(): Map<string, string> {
  const pages = new Map(listPages().map(path => [path, readFileSync(join(docs, path), 'utf8')]))
  for (const [path, name] of Object.entries(PAGES_ELSEWHERE))
    pages.set(name, readFileSync(join(docs, path), 'utf8'))
  const decisions = [...pages.keys()].filter(path => path.startsWith('decisions/'))
  const entries = decisions.map(path => ({
    path,
    title: /^# (.+)$/m.exec(pages.get(path) ?? '')?.[1] ?? path,
  }))
  return pages.set('decisions/README.md', folderPage('Decisions', entries))
}

/** @return the routes of the pages. */
export function prepare(folder: string): number {
  for (const name of [...PROJECT, 'public', 'sidebar.json'])
    rmSync(join(folder, name), { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of PROJECT) cpSync(join(here, name), join(folder, name), { recursive: true })

  const copy = (from: string, to: string): void => {
    mkdirSync(dirname(to), { recursive: true })
    cpSync(from, to)
  }
  copy(join(docs, '../agent/web/public/icon.svg'), join(folder, 'public/favicon.svg'))

  const pages = readPages()
  const paths = new Set(pages.keys())
  const content = join(folder, 'src/content/docs')
  const sources = new Map(Object.entries(PAGES_ELSEWHERE).map(([source, path]) => [path, source]))
  const titles = new Map<string, string>()
  for (const [path, markdown] of pages) {
    const page = sitePage(path, markdown, paths, sources.get(path))
    titles.set(path, page.title)
    mkdirSync(dirname(join(content, page.path)), { recursive: true })
    writeFileSync(join(content, page.path), page.text)
    for (const file of page.files) copy(join(docs, file), join(folder, 'public', file))
    for (const picture of page.pictures) copy(join(docs, picture), join(content, picture))
  }
  const sidebar = sidebarOf(pages.get('README.md') ?? '', titles)
  writeFileSync(join(folder, 'sidebar.json'), JSON.stringify(sidebar, null, 2))
  return pages.size
}
