/**
 * The host half of the CUDA engine on an emulated card, with two hand-written kernels instead of nvcc's. `npm
 * run interop:cuda` tests the kernels that ship.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { buildEmulator } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { OP_NAMES } from '@cairn-tune/ops'
import { listCardOps, listCards } from '../src/cards.ts'
import { createCudaEngine, type CudaEngine } from '../src/cuda-engine.ts'
import { FLAT_VERSION, type FlatProgram } from '../src/engine.ts'
import { findNvcc, nvccCandidates } from '../src/nvcc.ts'
import { makeToolkit } from './fake-toolkit.ts'

const page = new URL('../../../docs/tune/cuda.md', import.meta.url)
const folder = mkdtempSync(join(tmpdir(), 'cairn-cuda-'))

let engine: CudaEngine
beforeAll(async () => {
  vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', await buildEmulator())
  vi.stubEnv('CUDA_HOME', makeToolkit(folder))
  engine = await createCudaEngine()
}, 600_000)
afterAll(() => {
  engine.close()
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

const [f32, i32] = [0, 2]
const bound = (i: number) => -1 - i
/** Tensors of the step `scale`. */
const scaling = [
  [f32, 5],
  [f32, 1],
  [f32, 5],
]

/**
 * A program of one step over bound tensors, with the dtype and sizes of each, in the step's order; −1 means
 * absent.
 */
function oneStep(
  op: string,
  tensors: number[][],
  attrs: number[] = [],
  order = [...tensors.keys()],
): FlatProgram {
  const code = [FLAT_VERSION, tensors.length, 1]
  for (const [dtype = 0, ...sizes] of tensors) code.push(dtype, sizes.length, ...sizes)
  code.push(OP_NAMES.findIndex(name => name === op))
  code.push(...order)
  return {
    code: Int32Array.from(code),
    attrs: Float64Array.from(attrs),
    places: Float64Array.from(tensors, (_, i) => bound(i)),
  }
}

const floats = async (buffer: Parameters<CudaEngine['read']>[0]) => {
  const bytes = await engine.read(buffer)
  return [...new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)]
}

test('an emulated card reports that it is emulated', async () => {
  expect(engine.isa).toContain('emulated (no speed)')
  expect((await listCards())[0]?.isEmulated).toBe(true)
})

test('runs a program on buffers of the card, and again after they are rewritten', async () => {
  const program = engine.compile(oneStep('scale', scaling))
  const [x, factor, y] = [engine.allocate(20), engine.adopt(Float32Array.of(3)), engine.allocate(20)]
  const run = engine.bind(program, engine.allocate(0), [x, factor, y])
  engine.write(x, Float32Array.of(1, 2, 3, 4, 5))
  await run()
  expect(await floats(y)).toEqual([3, 6, 9, 12, 15])
  engine.write(x, memory => memory.fill(0), 16)
  engine.write(factor, Float32Array.of(-1))
  await run()
  expect(await floats(y)).toEqual([-1, -2, -3, -4, -0])
  engine.clear(y, 4, 8)
  expect(await floats(engine.part(y, 0, 12))).toEqual([-1, 0, -3])
})

test("an error in a kernel's data has the names and shapes of its step", async () => {
  const program = engine.compile(
    oneStep(
      'embed',
      [
        [f32, 3, 4],
        [i32, 2],
        [f32, 2, 4],
      ],
      [f32, 0],
    ),
  )
  const buffers = [48, 8, 32].map(bytes => engine.allocate(bytes))
  await expect(engine.run(program, engine.allocate(0), buffers)).rejects.toThrow(
    '[embed] an id lies outside the table; table: f32 (3, 4), ids: i32 (2)',
  )
})

test('rejects buffers that are too small and buffers of a closed engine', async () => {
  const program = engine.compile(oneStep('scale', scaling))
  const small = [engine.allocate(8), engine.allocate(4), engine.allocate(20)]
  expect(() => engine.bind(program, engine.allocate(0), small)).toThrow('must have 20 bytes, got 8')
  const other = await createCudaEngine()
  const kept = other.allocate(4)
  other.close()
  expect(() => other.write(kept, Float32Array.of(1))).toThrow('the engine is closed')
})

test('without a driver the error says so', async () => {
  vi.stubEnv('CAIRN_TUNE_CUDA_DRIVER', '/no/such/libcuda.so.1')
  await expect(listCards()).rejects.toThrow('no CUDA driver found: /no/such/libcuda.so.1')
})

test('one process can use emulated cards of several settings', async () => {
  const capabilities: number[] = []
  for (const capability of ['90', '89']) {
    await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: capability })
    capabilities.push(...(await listCards()).map(card => card.capability))
  }
  expect(capabilities).toEqual([90, 89])
})

test('looks for nvcc in CUDA_HOME, on the PATH and in the default folder', () => {
  const candidates = nvccCandidates({ CUDA_HOME: '/cuda', PATH: '/a:/b' })
  expect(candidates).toEqual(['/cuda/bin/nvcc', '/a/nvcc', '/b/nvcc', '/usr/local/cuda/bin/nvcc'])
  expect(findNvcc(['/no/nvcc', join(folder, 'toolkit', 'bin', 'nvcc')])?.version).toBe('V99.0.1')
  expect(findNvcc(['/no/nvcc'])).toBeUndefined()
})

test('every op of the table has a launcher, as the documentation states', async () => {
  const can = new Set(await listCardOps())
  expect(OP_NAMES.filter(name => !can.has(name))).toEqual([])
  expect(readFileSync(page, 'utf8')).toContain('Every op has a kernel for a card.')
})
