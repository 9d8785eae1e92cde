/**
 * The kernels of a card: each file of `cuda` is compiled once for the architecture of the card, or to PTX for
 * an emulated card, and kept beside the builds of the CPU.
 */
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { assetBeside } from '@cairn/tooling/beside'
import { buildOnce, defaultCacheDir } from './build-once.ts'
import { hashOf } from './build.ts'
import { forAll, runCompiler } from './compiler.ts'
import { findNvcc, nvccCandidates, type Nvcc } from './nvcc.ts'

const root = fileURLToPath(assetBeside(import.meta, '../', 'native/'))

// No contraction, as on the CPU: kernels request fused multiply-adds explicitly.
const flags = ['-std=c++17', '-O3', '-fmad=false', '-Wno-deprecated-gpu-targets']
const includes = ['core', 'generated', 'cuda'].map(folder => `-I${join(root, folder)}`)

export type ModulesOptions = {
  /** Compute capability: 90 is 9.0. */ capability: number
  /** PTX instead of machine code. */ areText: boolean
  cacheDir?: string
  nvcc?: Nvcc | undefined
  log?: (line: string) => void
}

/** From 9.0 on, some instructions exist only on one architecture. */
export const architecture = (capability: number) => `${capability}${capability >= 90 ? 'a' : ''}`

/** Files of kernels, by their paths in this package. */
export const listModules = () => listFiles('cuda').filter(path => path.endsWith('.cu'))

/** Identifies what a compiler makes of some modules for a target. */
export function modulesKey({ version }: Nvcc, target: readonly string[], modules: readonly string[]): string {
  const headers = ['cuda', 'core', 'generated'].flatMap(listFiles).filter(path => !path.endsWith('.cu'))
  return hashOf(JSON.stringify([version, target, flags]), [...modules, ...headers].toSorted())
}

/** Arguments of nvcc that compile a module for a target, without its output. */
export const argumentsOf = (source: string, target: readonly string[]): string[] => [
  ...flags,
  ...target,
  ...includes,
  join(root, source),
]

/** Returns the folder of modules, after building it if the cache does not have it. */
export async function buildModules(options: ModulesOptions): Promise<string> {
  const { capability, areText, cacheDir = defaultCacheDir(), log = () => undefined } = options
  const nvcc = options.nvcc ?? findNvcc(nvccCandidates(process.env))
  if (!nvcc)
    throw new Error(
      'Compiling kernels for a GPU requires nvcc, which was not found: ' +
        'install the CUDA toolkit, put nvcc on the PATH or set CUDA_HOME.',
    )
  const target = areText
    ? ['-ptx', `-arch=compute_${architecture(capability)}`]
    : ['-cubin', `-arch=sm_${architecture(capability)}`]
  const modules = listModules()
  const path = join(cacheDir, modulesKey(nvcc, target, modules), 'modules')
  const make = async () => {
    const work = join(dirname(path), `build-${process.pid}`)
    mkdirSync(work, { recursive: true })
    try {
      log(`Compiling ${modules.length} kernel files for ${target.join(' ')} with nvcc ${nvcc.version}`)
      await forAll(modules, source =>
        runCompiler(nvcc.command, [
          ...argumentsOf(source, target),
          '-o',
          join(work, `${basename(source, '.cu')}.${areText ? 'ptx' : 'cubin'}`),
        ]),
      )
      renameSync(work, path)
    } finally {
      rmSync(work, { recursive: true, force: true })
    }
  }
  return await buildOnce({ path, cacheDir, log, make })
}

const listFiles = (folder: string) =>
  readdirSync(join(root, folder))
    .filter(name => /\.(cu|h)$/.test(name))
    .map(name => join(folder, name))
