/**
 * Builds the library with the system's compiler for the instructions of this machine, because its own loops
 * are the cost of interpreting kernels. The result is in the user's cache beside the engine's builds, named
 * by a hash of sources, compiler, flags and processor. Of two concurrent builders the second waits for the
 * first.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
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

/** Returns the path of the driver's library, after building it if the cache does not have it. */
export const buildEmulator = (options: BuildOptions = {}): Promise<string> =>
  build(LIBRARY, 'the GPU emulator', folders, options)

/** Variables of the emulated card, as CAIRN_EMULATOR_CAPABILITY. */
export type Settings = Readonly<Record<`CAIRN_EMULATOR_${string}`, string>>

/**
 * The environment in which an engine finds an emulated card with these settings. A process reads the settings
 * once for each file of the driver, so every combination has a copy of the file.
 */
export async function emulatorEnv(
  settings: Settings,
  options: BuildOptions = {},
): Promise<Settings & { CAIRN_TUNE_CUDA_DRIVER: string }> {
  const { cacheDir = defaultCacheDir(), log = () => undefined } = options
  const library = await buildEmulator(options)
  const key = createHash('sha256')
    .update(JSON.stringify(Object.entries(settings).toSorted()))
    .digest('hex')
  const path = join(dirname(library), `${key.slice(0, 12)}-${LIBRARY}`)
  const make = (): Promise<void> => {
    // A link would be the same file to the loader.
    copyFileSync(library, `${path}.part`)
    renameSync(`${path}.part`, path)
    return Promise.resolve()
  }
  return { ...settings, CAIRN_TUNE_CUDA_DRIVER: await buildOnce({ path, cacheDir, log, make }) }
}

/** Builds NCCL's library, with which emulated cards of several processes exchange bytes. */
export const buildEmulatedNccl = (options: BuildOptions = {}): Promise<string> =>
  build('libnccl.so.2', 'the emulated NCCL', ['nccl', '../../tune/native/collectives'], options)

async function build(
  library: string,
  title: string,
  folders: readonly string[],
  options: BuildOptions,
): Promise<string> {
  const { cacheDir = defaultCacheDir(), log = () => undefined } = options
  const compiler = options.compiler ?? process.env['CXX'] ?? 'c++'
  // The addon of collectives is a part of Node, and MPI none of the emulator.
  const list = (ending: string) =>
    listSources(folders, ending).filter(path => !/collectives\/(?:addon|mpi)\./.test(path))
  const sources = list('.cc')
  const path = join(cacheDir, keyOf(compiler, [...list('.h'), ...sources]), library)
  const make = async () => {
    const work = mkdtempSync(join(dirname(path), 'build-'))
    try {
      log(`Building ${title} with ${compiler}: ${sources.length} files`)
      renameSync(await compile(compiler, sources, join(work, library)), path)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
  return await buildOnce({ path, cacheDir, log, make })
}

const listSources = (folders: readonly string[], ending: string): string[] =>
  folders
    .flatMap(folder => readdirSync(join(root, folder)).map(name => join(folder, name)))
    .filter(path => path.endsWith(ending))
    .toSorted()

function keyOf(compiler: string, sources: readonly string[]): string {
  const { status, stdout } = spawnSync(compiler, ['-march=native', '-Q', '--help=target', '--version'], {
    encoding: 'utf8',
  })
  if (status !== 0)
    throw new Error(
      `the emulator needs a C++20 compiler, but ${compiler} does not run; set CXX to one that does`,
    )
  const hash = createHash('sha256').update(JSON.stringify([flags, stdout]))
  for (const path of sources)
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0')
  return hash.digest('hex').slice(0, 20)
}

async function compile(compiler: string, sources: readonly string[], library: string): Promise<string> {
  const object = (source: string) => join(dirname(library), `${basename(source, '.cc')}.o`)
  await forAll(sources, source =>
    runCompiler(compiler, [...flags, '-c', join(root, source), '-o', object(source)]),
  )
  await runCompiler(compiler, ['-shared', '-pthread', '-o', library, ...sources.map(object)])
  return library
}
