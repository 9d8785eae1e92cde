/** Builds the site of docs/ into out/site and checks its files. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { prepare } from '../../docs/site/prepare.ts'
import { root } from '../workspace.ts'
import { deadLinks, loadsFromElsewhere, readBuilt } from './check-files.ts'

export const SITE = join(root, 'out/site')
const project = join(root, 'out/site-build')

/** Installs the packages of the generator, unless those of its lock file are installed. */
function installGenerator(): void {
  const hash = createHash('sha256')
    .update(readFileSync(join(project, 'package-lock.json')))
    .digest('hex')
  const stamp = join(project, 'node_modules/.cairn-lock')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === hash) return
  console.error('Installing the generator of the site (npm ci) ...')
  execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'], {
    cwd: project,
    stdio: 'inherit',
  })
  writeFileSync(stamp, hash)
}

/** A cell of a table's head that has no text labels nothing, so it is not a header. */
const emptyHeadersAsCells = (html: string): string =>
  html.replaceAll(
    /<th(\s[^>]*)?><\/th>/g,
    (_, attributes: string | undefined) => `<td${attributes ?? ''}></td>`,
  )

/** Throws with all dead links and all loads from other origins. */
export function buildSite(): { pages: number; megabytes: number } {
  prepare(project)
  installGenerator()
  // The cache of rendered pages does not depend on the settings of code blocks.
  for (const path of [SITE, join(project, '.astro'), join(project, 'node_modules/.astro')])
    rmSync(path, { recursive: true, force: true })
  // The pinned Node runs this file; npm's launcher would take the system's, which may be too old.
  execFileSync(process.execPath, [join(project, 'node_modules/astro/bin/astro.mjs'), 'build'], {
    cwd: project,
    env: { ...process.env, ASTRO_TELEMETRY_DISABLED: '1' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const { pages, files } = readBuilt(SITE)
  for (const { path, html } of pages) writeFileSync(join(SITE, path), emptyHeadersAsCells(html))
  const styles = [...files]
    .filter(path => path.endsWith('.css'))
    .map(path => ({ route: path, css: readFileSync(join(SITE, path), 'utf8') }))
  const dead = deadLinks(pages, files)
  const loads = loadsFromElsewhere(pages, styles)
  if (dead.length + loads.length > 0)
    throw new Error(
      [
        ...dead.map(link => `dead link: ${link}`),
        ...loads.map(link => `loads from another origin: ${link}`),
      ].join('\n'),
    )
  const bytes = [...files].reduce((sum, path) => sum + readFileSync(join(SITE, path)).length, 0)
  return { pages: pages.length, megabytes: bytes / 1e6 }
}
