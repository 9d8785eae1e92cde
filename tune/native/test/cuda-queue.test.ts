/**
 * Queues of programs on an emulated card whose streams run their work when the host waits for it, so that
 * memory that is reused too early shows in the results.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { OP_NAMES } from '@cairn-tune/ops'
import { createCudaEngine, type CudaEngine } from '../src/cuda-engine.ts'
import { FLAT_VERSION, type BoundRun, type DeviceBuffer, type FlatProgram } from '../src/engine.ts'
import { makeToolkit } from './fake-toolkit.ts'

const folder = mkdtempSync(join(tmpdir(), 'cairn-queue-'))

let engine: CudaEngine
beforeAll(async () => {
  await stubEmulator({ CAIRN_EMULATOR_STREAMS: 'late' })
  vi.stubEnv('CUDA_HOME', makeToolkit(folder))
  engine = await createCudaEngine()
}, 600_000)
afterAll(() => {
  engine.close()
  vi.unstubAllEnvs()
  rmSync(folder, { recursive: true, force: true })
})

const [f32, i32] = [0, 2]

/** A program of one step over bound tensors, with the dtype and sizes of each. */
function oneStep(op: string, tensors: number[][], attrs: number[] = []): FlatProgram {
  const code = [FLAT_VERSION, tensors.length, 1]
  for (const [dtype = 0, ...sizes] of tensors) code.push(dtype, sizes.length, ...sizes)
  code.push(
    OP_NAMES.findIndex(name => name === op),
    ...tensors.keys(),
  )
  return {
    code: Int32Array.from(code),
    attrs: Float64Array.from(attrs),
    places: Float64Array.from(tensors, (_, i) => -1 - i),
  }
}

const scaling = [
  [f32, 5],
  [f32, 1],
  [f32, 5],
]
const embedding = [
  [f32, 3, 4],
  [i32, 2],
  [f32, 2, 4],
]

/** A run of a program, and its buffers. */
function bind(op: string, tensors: number[][], attrs: number[] = []): [run: BoundRun, ...DeviceBuffer[]] {
  const buffers = tensors.map(([, ...sizes]) => engine.allocate(sizes.reduce((a, b) => a * b, 4)))
  return [engine.bind(engine.compile(oneStep(op, tensors, attrs)), engine.allocate(0), buffers), ...buffers]
}

async function floatsIn(buffer: DeviceBuffer): Promise<number[]> {
  const bytes = await engine.read(buffer)
  return [...new Float32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength / 4)]
}

test('each run of a queue reads what was written for it', async () => {
  const [run, x, factor, y] = bind('scale', scaling)
  if (!x || !factor || !y) throw new Error('no buffers')
  const all = engine.allocate(7 * 20)
  const input = new Float32Array(5)
  await engine.runQueue?.(
    Array.from({ length: 7 }, (_, i) => ({
      run,
      writes: [
        [x, Float32Array.of(i, 1, 2, 3, 4)],
        [factor, Float32Array.of(i + 1)],
      ],
      copy: [y, engine.part(all, i * 20, i * 20 + 20)],
    })),
  )
  expect(await floatsIn(all)).toEqual(
    Array.from({ length: 7 }, (_, i) => [i, 1, 2, 3, 4].map(value => value * (i + 1))).flat(),
  )
  // The bytes are taken when the queue starts.
  const queued = engine.runQueue?.([{ run, writes: [[x, input]], copy: [y, engine.part(all, 0, 20)] }])
  input.fill(9)
  await queued
  expect((await floatsIn(all)).slice(0, 5)).toEqual([0, 0, 0, 0, 0])
})

test("an error in a kernel's data has the names and shapes of its step", async () => {
  // The embed of the hand-written kernels always reports an error.
  const [wrong, , , rows] = bind('embed', embedding, [f32, 0])
  const [run, x, factor, y] = bind('scale', scaling)
  if (!rows || !x || !factor || !y) throw new Error('no buffers')
  const to = engine.allocate(20)
  const right = {
    run,
    writes: [
      [x, Float32Array.of(1, 2, 3, 4, 5)],
      [factor, Float32Array.of(2)],
    ],
    copy: [y, to],
  } as const
  const queue = [right, { run: wrong, writes: [], copy: [rows, engine.allocate(32)] as const }, right]
  await expect(engine.runQueue?.(queue)).rejects.toThrow(
    '[embed] an id lies outside the table; table: f32 (3, 4), ids: i32 (2)',
  )
  await engine.runQueue?.([right])
  expect(await floatsIn(to)).toEqual([2, 4, 6, 8, 10])
})

test('an abort ends a queue', async () => {
  const [run, , , y] = bind('scale', scaling)
  if (!y) throw new Error('no buffers')
  const copy = [y, engine.allocate(20)] as const
  // Long enough that the abort comes first.
  const queue = Array.from({ length: 20_000 }, () => ({ run, writes: [], copy }))
  const aborts = new AbortController()
  const running = engine.runQueue?.(queue, { signal: aborts.signal })
  aborts.abort(new Error('stop'))
  await expect(running).rejects.toThrow('stop')
  await expect(engine.runQueue?.(queue, { signal: aborts.signal })).rejects.toThrow('stop')
})

test('rejects a run of no engine and a write past the end of a buffer', async () => {
  const [run, x, , y] = bind('scale', scaling)
  if (!x || !y) throw new Error('no buffers')
  const copy = [y, engine.allocate(20)] as const
  const alien: BoundRun = () => Promise.resolve({ seconds: [] })
  await expect(engine.runQueue?.([{ run: alien, writes: [], copy }])).rejects.toThrow('must come from bind')
  const long = [[x, new Float32Array(6)] as const]
  await expect(engine.runQueue?.([{ run, writes: long, copy }])).rejects.toThrow('longer than its buffer')
})
