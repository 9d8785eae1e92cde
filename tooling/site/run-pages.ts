/**
 * Runs the marked code blocks of every page of docs/, each page in a folder of its own with the packages of a
 * release, as their reader would.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NAMES } from '../names.ts'
import { createUser, install, npmVariables } from '../release/as-user.ts'
import { buildCommands, pack } from '../release/packages.ts'
import { listPaths, root } from '../workspace.ts'
import { type Block, readBlocks, runBlocks } from './blocks.ts'

const out = join(root, 'out')

const markedPages = (): { path: string; blocks: Block[] }[] =>
  listPaths('docs')
    .filter(path => path.endsWith('.md'))
    .flatMap(path => {
      const blocks = readBlocks(readFileSync(join(root, path), 'utf8'))
      return blocks.length === 0 ? [] : [{ path, blocks }]
    })

/** A page that installs Cairn starts in an empty folder. */
const installsCairn = (blocks: readonly Block[]): boolean =>
  blocks.some(({ kind, text }) => kind === 'commands' && /\bnpm install\b/.test(text))

/** Builds the packages and runs the pages whose paths contain a word, or all. Returns a line for each. */
export async function runPages(words: readonly string[] = []): Promise<string[]> {
  const pages = markedPages().filter(
    ({ path }) => words.length === 0 || words.some(word => path.includes(word)),
  )
  if (pages.length === 0) throw new Error(`No page with marked blocks is named "${words.join(' ')}"`)
  const packages = join(out, 'npm')
  mkdirSync(packages, { recursive: true })
  await buildCommands(join(packages, 'commands'))
  const commands = join(packages, pack(join(packages, 'commands'), packages))
  const work = mkdtempSync(join(tmpdir(), 'cairn-pages-'))
  const lines: string[] = []
  try {
    for (const { path, blocks } of pages) {
      console.error(`> ${path}`)
      const from = performance.now()
      const user = createUser('24', work)
      if (!installsCairn(blocks)) install(user, [commands])
      await runBlocks(blocks, {
        folder: user.folder,
        env: {
          ...npmVariables(),
          HOME: user.env['HOME'] ?? work,
          PATH: `${user.env['PATH']}:/usr/bin:/bin`,
          // Kernels are compiled once for all pages and runs.
          XDG_CACHE_HOME: join(out, 'site-cache'),
          FILE: commands,
          PORT: '0',
        },
      })
      const seconds = (performance.now() - from) / 1000
      lines.push(`${path}: ${blocks.length} blocks, ${seconds.toFixed(0)} s, with ${NAMES.commands}`)
    }
    return lines
  } finally {
    rmSync(work, { recursive: true, force: true, maxRetries: 3 })
  }
}
