/**
 * Builds the addon with the system's compiler: each source once, kernels once per instruction set, then one
 * link.
 *
 * The result is in the user's cache, named by a hash of sources, compiler and flags, so nothing is ever stale
 * or written twice. It is written under a temporary name and renamed, so a reader never sees half a file; a
 * lock makes a second builder wait for the first. A new result removes old ones.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assetBeside, isBundled } from '@cairn/tooling/beside'
import { buildOnce, defaultCacheDir } from './build-once.ts'
import { compilerCandidates, findCompiler, forAll, runCompiler, type Compiler } from './compiler.ts'
import { isasOf, readFeatures, runnableIsas, type Isa } from './isas.ts'

const root = fileURLToPath(assetBeside(import.meta, '../', 'native/'))

const warnings = ['-Wall', '-Wextra', '-Wno-unused-function', '-Wno-psabi']
// No contraction: kernels request fused multiply-adds explicitly, and elsewhere every machine rounds alike.
const compileFlags = [
  '-std=c++20',
  '-O3',
  '-fPIC',
  '-fvisibility=hidden',
  '-ffp-contract=off',
  '-fno-math-errno',
  '-fno-trapping-math',
  '-pthread',
  ...warnings,
]
const linkFlags = process.platform === 'darwin' ? ['-undefined', 'dynamic_lookup'] : ['-pthread']

/** Sources of an addon, and the instruction sets its kernels are compiled for. */
export type AddonParts = {
  name: string
  /** What a build announces. */ title: string
  folders: readonly string[]
  /** Files from other folders. */ files: readonly string[]
  isas: readonly Isa[]
}

export const CPU_ADDON: AddonParts = {
  name: 'cairn_tune',
  title: 'the kernels',
  folders: ['binding', 'core', 'cpu', 'generated'],
  files: [],
  isas: runnableIsas(isasOf(process.arch), readFeatures()),
}

/** The host part of the CUDA engine. It builds without CUDA. */
export const DEVICE_ADDON: AddonParts = {
  name: 'cairn_tune_device',
  title: 'the GPU engine',
  folders: ['core', 'device', 'device/launch', 'generated'],
  files: [
    'binding/completion.cc',
    'binding/completion.h',
    'binding/napi.h',
    'binding/walker.cc',
    'binding/walker.h',
  ],
  isas: [],
}

/** What several ranks of one run share. */
export const COLLECTIVES_ADDON: AddonParts = {
  name: 'cairn_tune_collectives',
  title: 'the collectives of ranks',
  folders: ['collectives'],
  files: ['binding/napi.h'],
  isas: [],
}

/** All addons. */
export const ADDONS: readonly AddonParts[] = [CPU_ADDON, DEVICE_ADDON, COLLECTIVES_ADDON]

type Unit = { source: string; object: string; flags: readonly string[] }

export type BuildOptions = {
  parts?: AddonParts
  cacheDir?: string
  compiler?: Compiler
  log?: (line: string) => void
}

/** Returns the path of the addon, after building it if the cache does not have it. */
export async function buildAddon(options: BuildOptions = {}): Promise<string> {
  const compiler = options.compiler ?? findCompiler(compilerCandidates(process.env))
  const { parts = CPU_ADDON, cacheDir = defaultCacheDir(), log = () => undefined } = options
  const addon = join(cacheDir, buildKey(compiler, parts), `${parts.name}.node`)
  return await buildOnce({ path: addon, cacheDir, log, make: () => compile(compiler, parts, addon, log) })
}

/** Headers in `cuda` define the parameters that host and kernels share. */
function listSources({ folders, files }: AddonParts): string[] {
  const shared = folders.includes('device') ? listFolder('cuda', /\.h$/) : []
  return [...folders.flatMap(folder => listFolder(folder, /\.(cc|h)$/)), ...files, ...shared].toSorted()
}

const listFolder = (folder: string, ending: RegExp) =>
  readdirSync(join(root, folder))
    .filter(name => ending.test(name))
    .map(name => join(folder, name))

/** Identifies the sources of an addon, whatever compiles them. */
export const sourcesHash = (parts: AddonParts): string => hashOf(parts.name, listSources(parts))

function buildKey(compiler: Compiler, parts: AddonParts): string {
  const options = [compiler, process.platform, process.arch, parts.name, parts.isas, compileFlags, linkFlags]
  return hashOf(JSON.stringify(options), listSources(parts))
}

/**
 * Names a build by its settings and the contents of its source files, given by their paths in this package.
 */
export function hashOf(how: string, sources: readonly string[]): string {
  const hash = createHash('sha256').update(how)
  for (const path of sources)
    hash
      .update(path)
      .update('\0')
      .update(readFileSync(join(root, path)))
      .update('\0')
  return hash.digest('hex').slice(0, 20)
}

/** Kernels are compiled for every instruction set, the rest once for the baseline. */
function listUnits(parts: AddonParts, objects: string): Unit[] {
  const { isas } = parts
  const sources = listSources(parts).filter(path => path.endsWith('.cc'))
  const object = (path: string, isa: string) =>
    join(objects, `${path.replaceAll('/', '_').replace(/\.cc$/, '')}.${isa}.o`)
  const kernels = sources.filter(path => dirname(path) === 'cpu')
  return [
    ...isas.flatMap(isa =>
      kernels.map(source => ({
        source,
        object: object(source, isa.name),
        flags: [...isa.flags, `-DCAIRN_ISA=${isa.name}`],
      })),
    ),
    ...sources
      .filter(path => dirname(path) !== 'cpu')
      .map(source => ({
        source,
        object: object(source, 'base'),
        flags: isas.map(({ name }) => `-DCAIRN_HAS_${name}`),
      })),
  ]
}

/** Instruction sets, without optional ones that the compiler does not support. */
async function knownIsas(compiler: Compiler, isas: readonly Isa[], work: string): Promise<Isa[]> {
  const empty = join(work, 'empty.cc')
  writeFileSync(empty, '')
  const known: Isa[] = []
  for (const isa of isas) {
    const isKnown =
      !isa.isOptional ||
      (await runCompiler(compiler.command, [...isa.flags, '-c', empty, '-o', join(work, 'empty.o')]).then(
        () => true,
        () => false, // Other errors of the compiler appear in the next files.
      ))
    if (isKnown) known.push(isa)
  }
  return known
}

async function compile(
  compiler: Compiler,
  wanted: AddonParts,
  addon: string,
  log: (line: string) => void,
): Promise<void> {
  const work = join(dirname(addon), `build-${process.pid}`)
  mkdirSync(work, { recursive: true })
  try {
    const includes = [...['core', 'generated'].map(folder => join(root, folder)), nodeHeaders()].map(
      folder => `-I${folder}`,
    )
    const parts = { ...wanted, isas: await knownIsas(compiler, wanted.isas, work) }
    const units = listUnits(parts, work)
    const isas = parts.isas.map(({ name }) => name).join(', ')
    log(
      `Building ${parts.title} with ${compiler.version}: ${units.length} files` +
        (isas === '' ? '' : ` for ${isas}`),
    )
    await forAll(units, unit =>
      runCompiler(compiler.command, [
        ...compileFlags,
        ...includes,
        ...unit.flags,
        '-c',
        join(root, unit.source),
        '-o',
        unit.object,
      ]),
    )
    const linked = join(work, basename(addon))
    await runCompiler(compiler.command, [
      '-shared',
      '-o',
      linked,
      ...units.map(({ object }) => object),
      ...linkFlags,
    ])
    renameSync(linked, addon)
  } finally {
    rmSync(work, { recursive: true, force: true })
  }
}

/** The headers of Node-API; a bundle has a copy. */
const nodeHeaders = (): string =>
  isBundled(import.meta)
    ? join(root, 'include')
    : join(dirname(createRequire(import.meta.url).resolve('node-api-headers/package.json')), 'include')
