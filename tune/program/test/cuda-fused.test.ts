/**
 * An op that does the work of several has their bytes, on the processor and on the emulated card in any order
 * of warps.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import {
  createCudaEngine,
  createEngine,
  findNvcc,
  nvccCandidates,
  type CudaEngine,
  type Engine,
} from '@cairn-tune/native'
import type { Attrs, OpName } from '@cairn-tune/ops'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { kernelsOf, noise, runNative, type Values } from './one-op.ts'

/** The outputs of an op, and those of the ops that it replaces. */
type Fusion = {
  name: string
  op: OpName
  inputs: Values
  attrs: Attrs
  fused: (engine: Engine) => Promise<Values>
  separate: (engine: Engine) => Promise<Values>
}

/** The gradient of a norm that is added to another gradient: full packs of columns, and single columns. */
const norms = (['bf16', 'f32'] as const).flatMap(dtype =>
  [256, 67].map((columns): Fusion => {
    const of = (seed: number) => noise(dtype, [9, columns], seed, 3)
    const weight = noise(dtype, [columns], 3)
    const alone = { dy: of(1), x: of(2), weight, rstd: noise('f32', [9], 4) }
    const [inputs, attrs] = [{ ...alone, addend: of(5) }, { weight_offset: 1 }]
    return {
      op: 'rms_norm_grad',
      inputs,
      attrs,
      name: `rms_norm_grad and add, ${dtype}, ${columns} columns`,
      fused: engine => runNative(engine, 'rms_norm_grad', inputs, attrs),
      separate: async engine => {
        const { dx } = await runNative(engine, 'rms_norm_grad', alone, attrs)
        const { y } = await runNative(engine, 'add', { a: inputs.addend, b: dx }, {})
        return { dx: y }
      },
    }
  }),
)

type Unit = { m: number; n: number; k: number; rank?: number; dtype?: 'bf16' | 'f32' }

/** The gradients of a gated unit after the product that makes the gradient of its result. */
function unitGrad({ m, n, k, rank = 0, dtype = 'bf16' }: Unit): Fusion {
  const of = (rows: number, columns: number, seed: number) => noise('bf16', [rows, columns], seed)
  const product = {
    a: of(m, k, 1),
    b: of(k, n, 2),
    ...(rank > 0 && { a2: of(m, rank, 3), b2: of(rank, n, 4) }),
  }
  const [gate, up] = [noise(dtype, [m, n], 5, 8), noise(dtype, [m, n], 6)]
  const attrs = { alpha: 0.5, arithmetic: 'bf16', stream: 0, dtype }
  const inputs = { ...product, gate, up }
  return {
    op: 'matmul_nn_swiglu_grad',
    inputs,
    attrs,
    name: `matmul_nn and swiglu_grad, ${m}×${n}×${k}+${rank}, ${dtype}`,
    fused: engine => runNative(engine, 'matmul_nn_swiglu_grad', inputs, attrs),
    separate: async engine => {
      const { y: dy } = await runNative(engine, 'matmul_nn', product, attrs)
      return await runNative(engine, 'swiglu_grad', { dy, gate, up }, {})
    },
  }
}

/** Both products of a gated unit and the unit, of which gate's second product has another rank than up's. */
function unit({ m, n, k, rank = 0, dtype = 'bf16' }: Unit): Fusion {
  const of = (rows: number, columns: number, seed: number) => noise('bf16', [rows, columns], seed)
  const a = of(m, k, 1)
  const second = (rank: number, seed: number) =>
    rank > 0 ? { a2: of(m, rank, seed), b2: of(n, rank, seed + 1) } : {}
  const gate = { b: of(n, k, 2), ...second(rank, 3) }
  const up = { b: of(n, k, 5), ...second(rank * 2, 6) }
  const inputs = {
    a,
    ...Object.fromEntries(Object.entries(gate).map(([name, value]) => [`gate_${name}`, value])),
    ...Object.fromEntries(Object.entries(up).map(([name, value]) => [`up_${name}`, value])),
  }
  const attrs = { arithmetic: 'bf16', dtype }
  return {
    name: `both matmul_nt and swiglu, ${m}×${n}×${k}+${rank}, ${dtype}`,
    op: 'matmul_nt_swiglu',
    inputs,
    attrs,
    fused: engine => runNative(engine, 'matmul_nt_swiglu', inputs, attrs),
    separate: async engine => {
      const one = { ...attrs, alpha: 1 }
      const { y: first } = await runNative(engine, 'matmul_nt', { a, ...gate }, one)
      const { y: second } = await runNative(engine, 'matmul_nt', { a, ...up }, one)
      return {
        gate: first,
        up: second,
        ...(await runNative(engine, 'swiglu', { gate: first, up: second }, {})),
      }
    },
  }
}

const SMALL = [
  ...norms,
  unitGrad({ m: 9, n: 34, k: 50 }),
  unitGrad({ m: 9, n: 33, k: 50, rank: 5, dtype: 'f32' }),
  unit({ m: 9, n: 34, k: 50 }),
  unit({ m: 9, n: 33, k: 50, rank: 5, dtype: 'f32' }),
]

/** Whole and cut tiles, one and several tiles of a block, and sums that end inside a step. */
const UNITS = [
  unitGrad({ m: 128, n: 256, k: 64 }),
  unitGrad({ m: 131, n: 522, k: 72, rank: 16 }),
  unitGrad({ m: 520, n: 1040, k: 8 }),
]

/** Shapes with enough tiles for the kernels that a card chooses by itself. */
const [WIDE, NARROW, BOTH] = [
  unitGrad({ m: 1275, n: 2826, k: 8, rank: 8 }),
  unitGrad({ m: 1275, n: 1418, k: 72 }),
  unit({ m: 1275, n: 1418, k: 136, rank: 40 }),
]

function compareOn(fusions: readonly Fusion[], open: () => Promise<Engine>): void {
  let engine: Engine
  beforeAll(async () => {
    engine = await open()
  }, 600_000)
  afterAll(() => {
    engine.close()
    vi.unstubAllEnvs()
  })
  test.each(fusions)('$name', async ({ fused, separate }) => {
    const own = await fused(engine)
    for (const [name, value] of Object.entries(await separate(engine)))
      expect(Buffer.compare(own[name]!.bytes, value!.bytes), name).toBe(0)
  })
}

async function openCard(kernels: string, settings: Settings = {}): Promise<CudaEngine> {
  await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: '90', ...settings })
  vi.stubEnv('CAIRN_TUNE_KERNELS', kernels)
  return await createCudaEngine()
}

const MODES: Settings[] = [
  {},
  { CAIRN_EMULATOR_SEED: '1' },
  { CAIRN_EMULATOR_COPIES: 'at-once', CAIRN_EMULATOR_SEED: '2' },
]

function chooseKernels(): void {
  const unitKernels = (engine: CudaEngine, { op, inputs, attrs }: Fusion) =>
    kernelsOf(engine, op, inputs, attrs)
      .filter(name => name !== 'stage')
      .join()

  test.each([
    ['', NARROW, 'wgmma_nn_swiglu_grad_128'],
    ['', WIDE, 'wgmma_nn_swiglu_grad_256'],
    ['', UNITS[0]!, 'matmul_nn_64,swiglu_grad'],
    ['bulk-all', UNITS[0]!, 'bulk_nn_swiglu_grad_256'],
    ['classic', WIDE, 'wgmma_nn_256,swiglu_grad'],
    ['', BOTH, 'wgmma_nt_swiglu_256'],
    ['classic', BOTH, 'wgmma_nt_128,swiglu'],
    ['bulk-all', BOTH, 'bulk_nt_256,swiglu'],
  ])('%s', async (kernels, unit, expected) => {
    using engine = await openCard(kernels)
    expect(unitKernels(engine, unit)).toBe(expected)
    vi.unstubAllEnvs()
  })
}

describe('on the processor', () => compareOn(SMALL, () => createEngine({ threads: 2 })))

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe.each(everyNth(3, MODES))('on the emulated card, %o', mode => {
    describe('by default', () => compareOn([...SMALL, WIDE, NARROW, BOTH], () => openCard('', mode)))
    describe('by bulk copies', () => compareOn(UNITS, () => openCard('bulk-all', mode)))
  })
  describe('kernels of gated units', chooseKernels)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    await expect(openCard('')).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
