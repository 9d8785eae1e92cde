/** What ptxas reports of each kernel (`nvcc -Xptxas -v`), which needs the compiler but no card. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { architecture, argumentsOf, listModules, modulesKey } from '../src/build-modules.ts'
import { buildOnce, defaultCacheDir } from '../src/build-once.ts'
import { forAll } from '../src/compiler.ts'
import type { Nvcc } from '../src/nvcc.ts'

export type Compiled = {
  registers: number
  /** Bytes. */
  spill_stores: number
  spill_loads: number
  stack: number
  /** Warnings that products of warpgroups run one after the other. Their numbers differ between versions. */
  serialized: number
}

const ENTRY = /Compiling entry function '(\w+)'/
const PROPERTIES = /Function properties for (\w+)/
const FRAME = /(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads/
const REGISTERS = /Used (\d+) registers/
const SERIALIZED = /\(C75\d\d\).*are serialized/

/** Reads the messages of one compilation. A warning counts for the kernel that it names, or for all. */
export function parsePtxas(text: string): Record<string, Compiled> {
  const kernels: Record<string, Compiled> = {}
  let kernel: Compiled | undefined
  let [entry, described] = ['', '']
  for (const line of text.split('\n')) {
    const name = ENTRY.exec(line)?.[1]
    if (name !== undefined) {
      entry = name
      kernel = { registers: 0, spill_stores: 0, spill_loads: 0, stack: 0, serialized: 0 }
      kernels[name] = kernel
    }
    described = PROPERTIES.exec(line)?.[1] ?? described
    if (!kernel) continue
    // Functions that a kernel calls have lines of their own.
    const frame = described === entry ? FRAME.exec(line) : null
    if (frame) {
      kernel.stack = Number(frame[1])
      kernel.spill_stores = Number(frame[2])
      kernel.spill_loads = Number(frame[3])
    }
    const registers = REGISTERS.exec(line)?.[1]
    if (registers !== undefined) kernel.registers = Number(registers)
  }
  const names = Object.keys(kernels)
  for (const line of text.split('\n').filter(one => SERIALIZED.test(one))) {
    const named = names.filter(name => new RegExp(`\\b${name}\\b`).test(line))
    for (const name of named.length > 0 ? named : names) {
      const warned = kernels[name]
      if (warned) warned.serialized++
    }
  }
  return kernels
}

type Options = {
  nvcc: Nvcc
  /** Modules by name. Defaults to all. */ modules?: readonly string[]
  log?: (line: string) => void
}

/** Compiles modules for a target, such as 90, and returns the report of each kernel, from a cache. */
export async function compileAll(
  capability: number,
  { nvcc, modules, log = () => undefined }: Options,
): Promise<Record<string, Compiled>> {
  const cacheDir = defaultCacheDir()
  const target = ['-cubin', `-arch=sm_${architecture(capability)}`, '-Xptxas', '-v']
  const reports: Record<string, Compiled>[] = []
  const isChosen = (source: string) => modules?.includes(basename(source, '.cu')) ?? true
  await forAll(listModules().filter(isChosen), async source => {
    const path = join(cacheDir, modulesKey(nvcc, target, [source]), 'ptxas.txt')
    const make = async () => {
      const work = mkdtempSync(join(dirname(path), 'build-'))
      try {
        log(`Compiling ${source} for ${target[1]}`)
        const command = [...argumentsOf(source, target), '-o', join(work, 'cubin')]
        const { stdout, stderr } = await promisify(execFile)(nvcc.command, command, { maxBuffer: 1e8 })
        writeFileSync(join(work, 'text'), stdout + stderr)
        renameSync(join(work, 'text'), path)
      } finally {
        rmSync(work, { recursive: true, force: true })
      }
    }
    await buildOnce({ path, cacheDir, log, make })
    reports.push(parsePtxas(readFileSync(path, 'utf8')))
  })
  return Object.assign({}, ...reports) as Record<string, Compiled>
}
