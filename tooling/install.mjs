// Keeps node_modules equal to package-lock.json, so that a fresh clone needs no step before `npm start`.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = fileURLToPath(new URL('..', import.meta.url))
const lockOf = root => join(root, 'package-lock.json')
const installedOf = root => join(root, 'node_modules/.package-lock.json')
const stampOf = root => join(root, 'node_modules/.cairn-lock')

/** Runs `npm ci` when what is installed is not what the lock file says, and tells how far it is. */
export async function ensureInstalled({
  root = here,
  log = line => console.error(line),
  everyMs = 3000,
} = {}) {
  const lock = readFileSync(lockOf(root), 'utf8')
  const hash = createHash('sha256').update(lock).digest('hex')
  if (existsSync(installedOf(root)) && readStamp(root) === hash) return
  if (!isInstalled(root, lock)) await install(root, lock, log, everyMs)
  writeFileSync(stampOf(root), hash)
}

function readStamp(root) {
  return existsSync(stampOf(root)) ? readFileSync(stampOf(root), 'utf8') : undefined
}

async function install(root, lock, log, everyMs) {
  const paths = packagePaths(lock)
  const startedAt = Date.now()
  const seconds = () => Math.round((Date.now() - startedAt) / 1000)
  const count = () => paths.filter(path => existsSync(join(root, path, 'package.json'))).length
  log(`Installing ${paths.length} packages (npm ci), once: about a minute ...`)
  const timer = setInterval(() => log(`  ${count()} of ${paths.length} packages, ${seconds()} s`), everyMs)
  try {
    await npmCi(root)
  } finally {
    clearInterval(timer)
  }
  log(`  installed in ${seconds()} s`)
}

/** Where the packages of the lock file go on this machine; those of other systems stay away. */
export function packagePaths(lock, { platform, arch } = process) {
  const fits = (allowed, own) => allowed === undefined || allowed.includes(own)
  return Object.entries(JSON.parse(lock).packages)
    .filter(([path, entry]) => path.startsWith('node_modules/') && entry.link !== true)
    .filter(([, { os, cpu }]) => fits(os, platform) && fits(cpu, arch))
    .map(([path]) => path)
}

// A person may have run npm ci already. npm records what it installed; optional packages of other platforms
// are absent there.
function isInstalled(root, lock) {
  if (!existsSync(installedOf(root))) return false
  const wanted = Object.entries(JSON.parse(lock).packages).filter(([path]) => path !== '')
  const installed = JSON.parse(readFileSync(installedOf(root), 'utf8')).packages
  return wanted.every(([path, entry]) => {
    const found = installed[path]
    if (!found) return entry.optional === true
    return found.version === entry.version && found.integrity === entry.integrity
  })
}

// No install script runs: none is needed, and a package's script is code nobody reviewed.
// Engine warnings are dropped because an old Node only installs here; the pinned one runs the code.
async function npmCi(root) {
  const args = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--no-progress', '--loglevel=error']
  const npm = process.env.npm_execpath
  const child = npm?.endsWith('.js')
    ? spawn(process.execPath, [npm, ...args], { cwd: root, stdio: 'inherit' })
    : spawn('npm', args, { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })
  const code = await new Promise((resolve, reject) => {
    child.once('error', cause => reject(new Error('npm could not be started', { cause })))
    child.once('exit', resolve)
  })
  if (code !== 0) throw new Error('npm ci failed; its message is above.')
}
