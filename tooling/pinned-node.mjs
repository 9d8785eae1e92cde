// Plain JavaScript that Node 20 can run, because this file finds the newer Node.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const wantedMajor = 24

/** Whether this process may run TypeScript and node:sqlite itself. */
export function isNewEnough(version = process.versions.node) {
  return Number.parseInt(version, 10) >= wantedMajor
}

/** Path of the Node to run the code with: this one if it is new enough, else the one npm installed. */
export function pinnedNode() {
  if (isNewEnough()) return process.execPath
  const platform = `node-${process.platform === 'win32' ? 'win' : process.platform}-${process.arch}`
  const binary = process.platform === 'win32' ? 'node.exe' : 'node'
  const folder = folderOf(platform)
  const path = folder === undefined ? undefined : join(folder, 'bin', binary)
  if (path !== undefined && existsSync(path)) return path
  throw new Error(
    `Cairn needs Node ${wantedMajor} or newer. This is ${process.version}, and the package ${platform} is ` +
      `not installed: install Node ${wantedMajor}, or run npm install without --omit=optional.`,
  )
}

function folderOf(name) {
  try {
    return dirname(createRequire(import.meta.url).resolve(`${name}/package.json`))
  } catch (error) {
    if (error.code === 'MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Runs a main module in this process, or in the pinned Node if this one is too old. */
export async function launch(main) {
  if (isNewEnough()) await import(main.href)
  else process.exitCode = await runPinned([fileURLToPath(main), ...process.argv.slice(2)])
}

/** A client of `cairn acp` waits for the first answer, so the code of other commands is not loaded for it. */
export const isAcp = () => process.argv[2] === 'acp' && !process.argv.includes('--help')

/**
 * Environment of the pinned Node and its children. Variables that are already set win.
 * - Node caches compiled code without types by the hash of its source: a start takes half the CPU, and an
 *   idle service 17 MB less, because the type stripper is not loaded. Node ignores a cache that it cannot
 *   read or write.
 * - glibc gives each thread its own arena, whose freed pages other threads cannot use. Two arenas are enough,
 *   because these threads allocate mostly in V8's heaps.
 */
const started = {
  NODE_COMPILE_CACHE: fileURLToPath(new URL('../node_modules/.cache/compiled', import.meta.url)),
  MALLOC_ARENA_MAX: '2',
}

/** Runs the pinned Node on `args` until it ends. Returns its exit code, 128 + n for a death by signal n. */
export async function runPinned(args, options = {}) {
  const env = { ...started, ...process.env, ...options.env }
  const child = spawn(pinnedNode(), args, { stdio: 'inherit', ...options, env })
  // A terminal sends Ctrl-C to the child as well; forwarding it would be a second one, which means "at once".
  const forward = signal => {
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  try {
    return await new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
    })
  } finally {
    for (const signal of signals) process.off(signal, forward)
  }
}
