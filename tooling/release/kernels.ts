/** Builds the kernels of Tune for machines without a compiler: one package per platform. */
import { execFileSync } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { ADDONS, buildAddon, sourcesHash } from '@cairn-tune/native/build'
import { findCompiler } from '@cairn-tune/native/compiler'
import { isasOf } from '@cairn-tune/native/isas'
import { NAMES, type Platform } from '../names.ts'
import { VERSION } from '../version.ts'
import { root } from '../workspace.ts'
import { writeJson } from './packages.ts'

/** Debian's cross compiler, where the machine has another architecture. */
const TOOLS: Record<Platform, { arch: NodeJS.Architecture; prefix: string }> = {
  'linux-x64': { arch: 'x64', prefix: 'x86_64-linux-gnu-' },
  'linux-arm64': { arch: 'arm64', prefix: 'aarch64-linux-gnu-' },
}

export const compilerOf = (platform: Platform): string => `${TOOLS[platform].prefix}g++`

/** What a machine must have at least: Debian 12, Ubuntu 22.04, Fedora 36. */
const FLOORS: Record<string, string> = { GLIBC: '2.35', GLIBCXX: '3.4.30', CXXABI: '1.3.13' }

/** Compiles all addons into the package of a platform. Throws if the compiler is not installed. */
export async function buildKernels(platform: Platform, folder: string): Promise<void> {
  const { arch, prefix } = TOOLS[platform]
  const compiler = findCompiler([compilerOf(platform)])
  mkdirSync(folder, { recursive: true })
  const sources: Record<string, string> = {}
  for (const addon of ADDONS) {
    const isas = addon.isas.length === 0 ? [] : isasOf(arch)
    const parts = { ...addon, isas }
    const built = await buildAddon({
      parts,
      compiler,
      cacheDir: join(root, 'out/kernels/build'),
      log: console.log,
    })
    const path = join(folder, `${parts.name}.node`)
    copyFileSync(built, path)
    execFileSync(`${prefix}strip`, ['--strip-unneeded', path])
    checkFloors(path)
    sources[parts.name] = sourcesHash(parts)
  }
  cpSync(join(root, 'LICENSE'), join(folder, 'LICENSE'))
  writeJson(join(folder, 'package.json'), {
    name: `${NAMES.kernels}-${platform}`,
    version: VERSION,
    license: 'Apache-2.0',
    os: ['linux'],
    cpu: [arch],
    libc: ['glibc'],
    // An addon of other sources than those of the program is not loaded.
    sources,
  })
}

/** The highest version of each library's symbols that an addon needs, as readelf lists them. */
function floorsOf(path: string): Record<string, string> {
  const text = execFileSync('readelf', ['--version-info', '--wide', path], { encoding: 'utf8' })
  const floors: Record<string, string> = {}
  for (const [, library = '', version = ''] of text.matchAll(/Name: ([A-Z]+)_([\d.]+)/g))
    if (isHigher(version, floors[library] ?? '0')) floors[library] = version
  return floors
}

function checkFloors(path: string): void {
  for (const [library, version] of Object.entries(floorsOf(path))) {
    const allowed = FLOORS[library]
    if (allowed !== undefined && isHigher(version, allowed))
      throw new Error(`[kernels] ${path} needs ${library}_${version}; at most ${allowed} is allowed`)
  }
}

/** Compares versions by their numbers. */
const isHigher = (a: string, b: string): boolean => a.localeCompare(b, 'en', { numeric: true }) > 0
