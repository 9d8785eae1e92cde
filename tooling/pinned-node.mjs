// Plain JavaScript that Node 20 can run: it is what finds the newer Node.
import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
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
  const path = fileURLToPath(new URL(`../node_modules/${platform}/bin/${binary}`, import.meta.url))
  if (existsSync(path)) return path
  throw new Error(
    `Cairn needs Node ${wantedMajor} or newer. This is ${process.version}, and npm installed no ` +
      `${platform}: run npm ci, or install Node ${wantedMajor}.`,
  )
}

/**
 * What each Node of ours, and whatever it starts, is started with. Variables that are set already win.
 * - Code is kept as it was compiled, with its types stripped, by the hash of its source: a start takes half
 *   the CPU, and a service at rest 17 MB less, as nothing that strips types is loaded. Node reads past a
 *   cache that it cannot use or write.
 * - glibc gives each thread an arena of its own, whose freed pages the others cannot use. Two are enough for
 *   threads that allocate in V8's heaps most of the time.
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
