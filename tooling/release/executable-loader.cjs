// The main module of the executable. It unpacks the bundles into the user's cache, once for each content, and
// runs a module of them. So threads, migrations and addons are files, as in the npm package.
'use strict'
const { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } = require('node:fs')
const { enableCompileCache } = require('node:module')
const { homedir } = require('node:os')
const { basename, dirname, join } = require('node:path')
const { getAsset, getRawAsset } = require('node:sea')
const { pathToFileURL } = require('node:url')

const { hash, files } = JSON.parse(getAsset('files.json', 'utf8'))
const caches = process.env.XDG_CACHE_HOME || join(homedir(), '.cache')
const top = join(caches, 'cairn')
const folder = join(top, hash)
const DRAFT = /\.unpacking-(\d+)$/

/** A crash of the system can leave files without their content, so the sizes are compared. */
const isComplete = () =>
  files.every(([path, size]) => statSync(join(folder, path), { throwIfNoEntry: false })?.size === size)

function unpack() {
  makeFolder(top)
  if (statSync(top).uid !== process.getuid())
    throw new Error(`${top} belongs to another user: set XDG_CACHE_HOME to a folder of your own`)
  removeDrafts()
  // Written under another name and renamed, so that no process sees a half folder.
  const draft = `${folder}.unpacking-${process.pid}`
  for (const [path] of files) {
    makeFolder(dirname(join(draft, path)))
    writeFileSync(join(draft, path), new Uint8Array(getRawAsset(path)))
  }
  if (existsSync(folder) && !isComplete()) rmSync(folder, { recursive: true, force: true })
  try {
    renameSync(draft, folder)
  } catch (error) {
    rmSync(draft, { recursive: true, force: true })
    if (!['ENOTEMPTY', 'EEXIST'].includes(error.code)) throw error
    // Another process was first.
  }
}

/** Node's own recursion never ends where a system refuses the folder as missing, as in /proc. */
function makeFolder(path) {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (error.code !== 'EEXIST') throw error
  }
}

/** What processes left that were killed while they unpacked. */
function removeDrafts() {
  for (const name of readdirSync(top)) {
    const [, pid] = DRAFT.exec(name) ?? []
    if (pid !== undefined && !isRunning(Number(pid)))
      rmSync(join(top, name), { recursive: true, force: true })
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error.code === 'EPERM'
  }
}

/** Takes the name of the module from the arguments. */
function moduleOfCommand() {
  const [, , first] = process.argv
  if (basename(process.argv0) === 'cairn-tune') return join(folder, 'tune/main.mjs')
  if (first === 'tune') {
    process.argv.splice(2, 1)
    return join(folder, 'tune/main.mjs')
  }
  return join(
    folder,
    first === 'acp' && !process.argv.includes('--help') ? 'agent/start.mjs' : 'agent/main.mjs',
  )
}

/**
 * The script of a child process: the program starts its own modules by their paths, as with node. The child may
 * have no variables that name the cache.
 */
function scriptOfChild() {
  const [, , first] = process.argv
  if (!first?.endsWith('.mjs') || basename(dirname(dirname(first))) !== hash) return undefined
  process.argv.splice(1, 1)
  return first
}

const script = scriptOfChild()
try {
  if (script === undefined && !isComplete()) unpack()
} catch (error) {
  const why = ['EACCES', 'EROFS', 'ENOSPC', 'EPERM', 'ENOENT'].includes(error.code)
    ? `cannot unpack the program to ${folder} (${error.code}): set XDG_CACHE_HOME to a writable folder`
    : error.message
  process.stderr.write(`cairn: ${why}\n`)
  process.exit(1)
}
if (script === undefined) enableCompileCache(join(top, 'compiled'))
import(pathToFileURL(script ?? moduleOfCommand()).href).catch(error => {
  process.stderr.write(`cairn: ${error.stack}\n`)
  process.exit(1)
})
