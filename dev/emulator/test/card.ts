/** Runs a kernel of PTX text in a process of its own, by a program that only knows `dlopen`. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildEmulator } from '../src/index.ts'

const here = fileURLToPath(new URL('.', import.meta.url))

/** A tensor map of the buffer at position `of` among the buffers, by NVIDIA's numbers. */
export type TensorMap = {
  of: number
  type: number
  swizzle: number
  sizes: readonly number[]
  /** In bytes, without that of the first dimension. */ strides: readonly number[]
  tile: readonly number[]
  /** Frees the buffer before the launch. */ freed?: boolean
}

type Argument =
  | { u32: number }
  | { u64: bigint }
  | { f32: number }
  | { buffer: ArrayBufferView; skip?: number }
  /** A buffer of a tensor map, not an argument of the kernel. */
  | { memory: ArrayBufferView }
  | { map: TensorMap }

export type Launch = {
  ptx: string
  kernel: string
  grid?: readonly number[]
  block?: readonly number[]
  shared?: number
  args: readonly Argument[]
  env?: Record<string, string>
}

export type LaunchResult = {
  status: number | null
  /** What the program says of the driver's error. */ error: string
  /** What the emulator says of it. */ message: string
  /** Each buffer after the launch, in the order of the arguments. */ buffers: ArrayBuffer[]
  /** The counts, where they are asked for. */ counts: Record<string, Record<string, number>>
}

export type Card = {
  /** The program that only knows `dlopen`. */ host: string
  run: (launch: Launch) => LaunchResult
  [Symbol.dispose]: () => void
}

export const readPtx = (name: string): string => readFileSync(join(here, 'data', name), 'utf8')

/** A whole text around the body of one kernel, which has the parameters of `params`. */
export const ptxOf = (body: string, params = '.param .u64 out', target = 'sm_80'): string =>
  `.version 9.0\n.target ${target}\n.address_size 64\n.visible .entry kernel(${params})\n{\n${body}\n}\n`

export async function openCard(): Promise<Card> {
  const library = await buildEmulator()
  const folder = mkdtempSync(join(tmpdir(), 'cairn-emulator-'))
  const host = join(folder, 'host')
  execFileSync(process.env['CXX'] ?? 'c++', ['-std=c++20', '-O1', '-o', host, join(here, 'host.cc'), '-ldl'])
  return {
    host,
    run: launch => runLaunch(launch, folder, host, library),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

function wordOf({ of, type, swizzle, sizes, strides, tile, freed }: TensorMap): string {
  const lists = [sizes, strides, tile].map(list => list.join('x'))
  return `map:${[of, type, swizzle, ...lists, ...(freed ? ['freed'] : [])].join('/')}`
}

function runLaunch(launch: Launch, folder: string, host: string, library: string): LaunchResult {
  const { kernel, grid = [1], block = [32], shared = 0, args, env = {} } = launch
  const module = join(folder, 'module.ptx')
  const counts = join(folder, 'counts.json')
  writeFileSync(module, launch.ptx)
  writeFileSync(counts, '{}')
  const files: string[] = []
  const words = args.map((arg, at) => {
    if ('u32' in arg) return `u32:${arg.u32}`
    if ('u64' in arg) return `u64:${arg.u64}`
    if ('f32' in arg) return `f32:${arg.f32}`
    if ('map' in arg) return wordOf(arg.map)
    const path = join(folder, `buffer-${at}`)
    const { buffer, byteOffset, byteLength } = 'memory' in arg ? arg.memory : arg.buffer
    writeFileSync(path, new Uint8Array(buffer, byteOffset, byteLength))
    files.push(path)
    return 'memory' in arg ? `memory:${path}` : `buffer:${path}@${arg.skip ?? 0}`
  })
  const shape = (sizes: readonly number[]) => [...sizes, 1, 1].slice(0, 3).join(',')
  const { status, stdout, stderr } = spawnSync(
    host,
    [module, kernel, shape(grid), shape(block), String(shared), ...words],
    {
      encoding: 'utf8',
      env: { ...process.env, LD_LIBRARY_PATH: dirname(library), CAIRN_EMULATOR_COUNTS: counts, ...env },
    },
  )
  return {
    status,
    error: stdout.trim(),
    message: stderr.trim(),
    buffers: files.map(path => {
      const bytes = readFileSync(path)
      return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer
    }),
    counts: JSON.parse(readFileSync(counts, 'utf8')) as LaunchResult['counts'],
  }
}
