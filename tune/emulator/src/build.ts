/**
 * Builds the library with the system's compiler, for the very instructions of this machine: it interprets
 * kernels, so its own loops are what costs. It lies in the user's cache beside the engine's builds, under a
 * hash of sources, compiler, flags and processor. Of two builders at once the second waits for the first.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, homedir } from 'node:os'
import { basename, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const folders = ['ptx', 'machine', 'ops', 'driver']
const LIBRARY = 'libcuda.so.1'
const LOCK_POLL_MS = 200

const flags = [
  '-std=c++20',
  '-O3',
  '-march=native',
  '-fPIC',
  '-fvisibility=hidden',
  // No contraction: an instruction that does not say fma is not one.
  '-ffp-contract=off',
  '-fno-math-errno',
  '-fno-trapping-math',
  '-pthread',
  '-Wall',
  '-Wextra',
  '-Wno-psabi',
  // GCC 12 warns of a copy in its own std::string.
  '-Wno-restrict',
]

export type BuildOptions = { cacheDir?: string; compiler?: string; log?: (line: string) => void }

/** Path of the library, built first where it is not in the cache yet. */
export async function buildEmulator(options: BuildOptions = {}): Promise<string> {
  const { log = () => undefined } = options
  const cacheDir =
    options.cacheDir ?? join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'cairn-tune')
  const compiler = options.compiler ?? process.env['CXX'] ?? 'c++'
  const folder = join(cacheDir, keyOf(compiler))
  const library = join(folder, LIBRARY)
  mkdirSync(folder, { recursive: true })
  for (let polls = 0; !markUsed(library); polls++) {
    if (!takeLock(`${library}.lock`)) {
      if (polls === 1) log('another process is building the emulator; waiting until it is done')
      await delay(LOCK_POLL_MS)
      continue
    }
    const work = mkdtempSync(join(folder, 'build-'))
    try {
      log(`Building the emulator of a card with ${compiler}: ${listSources('.cc').length} files`)
      renameSync(await compile(compiler, work), library)
    } finally {
      rmSync(work, { recursive: true, force: true })
      rmSync(`${library}.lock`, { force: true })
    }
  }
  return library
}

/** Builds that nobody uses are removed by the engine's builder. False where there is none yet. */
function markUsed(library: string): boolean {
  if (!existsSync(library)) return false
  const now = new Date()
  utimesSync(library, now, now)
  return true
}

/** Names this process in the lock; one that a process left which is gone is taken away first. */
function takeLock(path: string): boolean {
  try {
    const holder = Number(readFileSync(path, 'utf8'))
    if (isAlive(holder)) return false
    rmSync(path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  try {
    writeFileSync(path, String(process.pid), { flag: 'wx' })
    return true
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return false
  }
}

function isAlive(pid: number): boolean {
  if (pid === 0) return true // It is being written this moment.
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

const listSources = (ending: string): string[] =>
  folders
    .flatMap(folder => readdirSync(join(root, folder)).map(name => join(folder, name)))
    .filter(path => path.endsWith(ending))
    .toSorted()

function keyOf(compiler: string): string {
  const { status, stdout } = spawnSync(compiler, ['-march=native', '-Q', '--help=target', '--version'], {
    encoding: 'utf8',
  })
  if (status !== 0)
    throw new Error(
      `the emulator needs a C++20 compiler, and ${compiler} does not run; set CXX to one that does`,
    )
  const hash = createHash('sha256').update(JSON.stringify([flags, stdout]))
  for (const path of [...listSources('.h'), ...listSources('.cc')])
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0')
  return hash.digest('hex').slice(0, 20)
}

async function compile(compiler: string, work: string): Promise<string> {
  const sources = listSources('.cc')
  const object = (source: string) => join(work, `${basename(source, '.cc')}.o`)
  const queue = [...sources]
  const worker = async () => {
    for (let source = queue.shift(); source; source = queue.shift())
      await run(compiler, [...flags, '-c', join(root, source), '-o', object(source)])
  }
  await Promise.all(Array.from({ length: availableParallelism() }, worker))
  const library = join(work, LIBRARY)
  await run(compiler, ['-shared', '-pthread', '-o', library, ...sources.map(object)])
  return library
}

function run(command: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] })
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text))
    child.on('error', error => reject(new Error(`${command} could not be started`, { cause: error })))
    child.on('close', status => {
      if (status === 0) resolve()
      else reject(new Error(`${command} ${args.join(' ')} failed with status ${status}:\n${said}`))
    })
  })
}
