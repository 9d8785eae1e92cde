// Builds the web UI when its sources changed, so that `npm start` never shows an old one.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runPinned } from './pinned-node.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const web = join(root, 'agent/web')
const stampPath = join(web, 'dist/.sources')

// Inputs of the bundle: the UI, the packages it may import, and the locked versions of its dependencies.
const sources = [
  'agent/web',
  'agent/client/src',
  'agent/protocol/src',
  'agent/state/src',
  'package-lock.json',
]
const notSource = /(^|\/)(node_modules|dist|test)(\/|$)|\.test\.tsx?$/

/** Builds agent/web/dist unless it is up to date. */
export async function ensureWebBuilt({ force = false } = {}) {
  const hash = hashSources()
  if (!force && existsSync(stampPath) && readFileSync(stampPath, 'utf8') === hash) return
  console.error('Building the web UI ...')
  const vite = join(root, 'node_modules/vite/bin/vite.js')
  // vite empties dist first, including the stamp, so a failed build is repeated by the next call.
  const code = await runPinned([vite, 'build', '--logLevel', 'warn'], { cwd: web })
  if (code !== 0) throw new Error('The web UI did not build; the message of vite is above.')
  writeFileSync(stampPath, hash)
}

function hashSources() {
  const hash = createHash('sha256')
  for (const file of sources.flatMap(listFiles).toSorted()) {
    const content = readFileSync(join(root, file))
    hash.update(`${file}\0${content.length}\0`).update(content)
  }
  return hash.digest('hex')
}

function listFiles(path) {
  if (notSource.test(path) || !existsSync(join(root, path))) return []
  if (path === 'package-lock.json') return [path]
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap(entry => {
    const inner = `${path}/${entry.name}`
    if (entry.isDirectory()) return listFiles(inner)
    return entry.isFile() && !notSource.test(inner) ? [inner] : []
  })
}
