// Keeps node_modules equal to package-lock.json, so that a fresh clone needs no step before `npm start`.
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const lockPath = `${root}package-lock.json`
const installedPath = `${root}node_modules/.package-lock.json`
const stampPath = `${root}node_modules/.cairn-lock`

/** Runs `npm ci` when what is installed is not what the lock file says. */
export function ensureInstalled() {
  const lock = readFileSync(lockPath, 'utf8')
  const hash = createHash('sha256').update(lock).digest('hex')
  if (existsSync(installedPath) && readStamp() === hash) return
  if (!isInstalled(lock)) {
    console.log('Installing dependencies (npm ci) ...')
    npmCi()
  }
  writeFileSync(stampPath, hash)
}

function readStamp() {
  return existsSync(stampPath) ? readFileSync(stampPath, 'utf8') : undefined
}

// A person may have run npm ci already. npm records what it installed; optional packages of other platforms
// are absent there.
function isInstalled(lock) {
  if (!existsSync(installedPath)) return false
  const wanted = Object.entries(JSON.parse(lock).packages).filter(([path]) => path !== '')
  const installed = JSON.parse(readFileSync(installedPath, 'utf8')).packages
  return wanted.every(([path, entry]) => {
    const found = installed[path]
    if (!found) return entry.optional === true
    return found.version === entry.version && found.integrity === entry.integrity
  })
}

// No install script runs: none is needed, and a package's script is code nobody reviewed.
// Engine warnings are dropped because an old Node only installs here; the pinned one runs the code.
function npmCi() {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = process.env.npm_execpath
  const done = npm?.endsWith('.js')
    ? spawnSync(process.execPath, [npm, ...args], { cwd: root, stdio: 'inherit' })
    : spawnSync('npm', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
  if (done.error) throw new Error('npm could not be started', { cause: done.error })
  if (done.status !== 0) throw new Error('npm ci failed; its message is above.')
}
