/**
 * Builds the library with the system's compiler for the instructions of this machine, because its own loops
 * are the cost of interpreting kernels. The result is in the user's cache beside the engine's builds, named
 * by a hash of sources, compiler, flags and processor. Of two concurrent builders the second waits for the
 * first.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildOnce, defaultCacheDir } from '@cairn-tune/native/build-once'
import { forAll, runCompiler } from '@cairn-tune/native/compiler'

const root = fileURLToPath(new URL('..', import.meta.url))
const folders = ['ptx', 'machine', 'ops', 'driver']
const LIBRARY = 'libcuda.so.1'

const flags = [
  '-std=c++20',
  '-O3',
  '-march=native',
  '-fPIC',
  '-fvisibility=hidden',
  // No contraction: only fma instructions may fuse.
  '-ffp-contract=off',
  '-fno-math-errno',
  '-fno-trapping-math',
  '-pthread',
  '-Wall',
  '-Wextra',
  '-Wno-psabi',
  // GCC 12 warns about a copy inside its own std::string.
  '-Wno-restrict',
]

export type BuildOptions = { cacheDir?: string; compiler?: string; log?: (line: string) => void }

/** Returns the path of the library, after building it if the cache does not have it. */
export async function buildEmulator(options: BuildOptions = {}): Promise<string> {
  const { cacheDir = defaultCacheDir(), log = () => undefined } = options
  const compiler = options.compiler ?? process.env['CXX'] ?? 'c++'
  const path = join(cacheDir, keyOf(compiler), LIBRARY)
  const make = async () => {
    const work = mkdtempSync(join(dirname(path), 'build-'))
    try {
      log(`Building the GPU emulator with ${compiler}: ${listSources('.cc').length} files`)
      renameSync(await compile(compiler, work), path)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
  return await buildOnce({ path, cacheDir, log, make })
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
      `the emulator needs a C++20 compiler, but ${compiler} does not run; set CXX to one that does`,
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
  await forAll(sources, source =>
    runCompiler(compiler, [...flags, '-c', join(root, source), '-o', object(source)]),
  )
  const library = join(work, LIBRARY)
  await runCompiler(compiler, ['-shared', '-pthread', '-o', library, ...sources.map(object)])
  return library
}
