/**
 * Products with few columns that share a launch on a card have the bytes of the kernels that they replace, in
 * any order of warps and wherever copies complete.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { everyNth } from '@cairn-tune/ops/test/sample'
import type { Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, findNvcc, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import {
  adoptAll,
  addIntoSums,
  createRecorder,
  flatten,
  groupProducts,
  planMemory,
  prepare,
  type Program,
  type Tensor,
} from '@cairn-tune/program'
import { countDifferent } from './byte-cases.ts'
import { noise } from './one-op.ts'

type Adapters = {
  tokens: number
  inputs: number
  /** Columns of each output, and rank of its adapter. */
  outputs: readonly (readonly [number, number])[]
  dtype?: 'f32' | 'bf16'
  alpha?: number
  sums?: 'f32' | 'bf16'
}

/** Adapters that read one input: forward, and the sums of their gradients. */
function recordAdapters({ tokens, inputs, outputs, ...types }: Adapters): Program {
  const { dtype = 'bf16', alpha = 0.5, sums = 'f32' } = types
  const g = createRecorder()
  const x = g.input('x', 'bf16', [tokens, inputs])
  const attrs = { alpha, arithmetic: 'bf16', dtype } as const
  const plain = { alpha: 1, arithmetic: 'bf16', dtype: sums } as const
  const made: Record<string, Tensor> = {}
  for (const [i, [columns, rank]] of outputs.entries()) {
    const [dy, z] = [g.input(`dy${i}`, 'bf16', [tokens, columns]), g.input(`z${i}`, 'bf16', [tokens, rank])]
    const [A, B] = [g.input(`A${i}`, 'bf16', [rank, inputs]), g.input(`B${i}`, 'bf16', [columns, rank])]
    made[`forward${i}`] = g.matmul_nt({ a: x, b: A }, attrs).y
    const dz = g.matmul_nn({ a: dy, b: B }, { ...attrs, dtype: 'bf16', stream: 0 }).y
    made[`dz${i}`] = dz
    made[`dx${i}`] = g.matmul_nn({ a: dz, b: A }, { ...attrs, stream: 0 }).y
    const dA = g.matmul_tn({ a: dz, b: x }, plain).y
    const dB = g.matmul_tn({ a: dy, b: z }, plain).y
    for (const [name, gradient] of Object.entries({ dA, dB }))
      if (i % 2 === 0 && sums === 'f32')
        g.accumulate({ total: g.input(`grad:${name}${i}`, 'f32', gradient.shape), x: gradient }, {})
      else made[`${name}${i}`] = gradient
  }
  return addIntoSums(g.finish(made))
}

/** Every output and sum after two runs. */
async function runTwice(engine: CudaEngine, program: Program): Promise<Map<string, Uint8Array>> {
  const prepared = prepare(engine, program)
  const inputs = program.tensors.filter(({ isInput }) => isInput)
  const buffers = {
    ...Object.fromEntries(
      Object.keys(program.outputs).map(name => [
        `out:${name}`,
        engine.allocate(prepared.bytesOf(`out:${name}`)),
      ]),
    ),
    ...adoptAll(
      engine,
      Object.fromEntries(
        inputs.map(({ name = '', dtype, shape }, i) => [name, noise(dtype, shape, i + 1).bytes.slice()]),
      ),
    ),
  }
  await prepared.run(buffers)
  await prepared.run(buffers)
  const results = new Map<string, Uint8Array>()
  for (const [name, buffer] of Object.entries(buffers))
    if (/^(out|grad):/.test(name)) results.set(name, (await engine.read(buffer)).slice())
  return results
}

const launchesOf = (engine: CudaEngine, program: Program) =>
  engine.launches(engine.compile(flatten(program, planMemory(program).placements)))

const CASES: readonly (Adapters & { kernels: Record<string, number> })[] = [
  // Like q, k and v, with sums that end inside tiles.
  {
    tokens: 200,
    inputs: 136,
    outputs: [
      [264, 16],
      [72, 16],
      [72, 16],
    ],
    kernels: { thin_nt_48: 1, thin_grad_16: 1, thin_grad_48: 1 },
  },
  // Sums along columns that blocks share.
  {
    tokens: 70,
    inputs: 1608,
    outputs: [
      [1592, 16],
      [2088, 8],
      [40, 24],
    ],
    kernels: { thin_nt_48: 1, thin_grad_32: 1, thin_grad_48: 1 },
  },
  // Sums along rows that blocks share.
  {
    tokens: 1600,
    inputs: 72,
    outputs: [
      [136, 8],
      [64, 16],
    ],
    kernels: { thin_nt_32: 1, thin_grad_16: 1, thin_grad_32: 1 },
  },
  // More columns than a tile has: two launches forward, two sections of one launch back.
  {
    tokens: 130,
    inputs: 128,
    outputs: [
      [80, 64],
      [200, 32],
    ],
    alpha: 1.7,
    kernels: { thin_nt_64: 1, thin_grad_64: 2 },
  },
]

const MODES: Settings[] = [
  // Sections of a launch run at the same time.
  { CAIRN_EMULATOR_THREADS: '16' },
  { CAIRN_EMULATOR_SEED: '1' },
  { CAIRN_EMULATOR_COPIES: 'at-once' },
  { CAIRN_EMULATOR_COPIES: 'drawn', CAIRN_EMULATOR_SEED: '2', CAIRN_EMULATOR_CAPABILITY: '80' },
]

async function openEngine(kernels: string, settings: Settings): Promise<CudaEngine> {
  await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: '90', ...settings })
  vi.stubEnv('CAIRN_TUNE_KERNELS', kernels)
  return await createCudaEngine()
}

function compareKernels(mode: Settings): void {
  let [classic, thin]: CudaEngine[] = []
  beforeAll(async () => {
    classic = await openEngine('classic', mode)
    thin = await openEngine('', mode)
  }, 600_000)
  afterAll(() => {
    classic?.close()
    thin?.close()
    vi.unstubAllEnvs()
  })

  test.each(everyNth(2, CASES, MODES.indexOf(mode)))(
    '$tokens tokens, $inputs inputs',
    async ({ kernels, ...adapters }) => {
      const recorded = recordAdapters(adapters)
      const grouped = groupProducts(recorded)
      const used = Object.entries(launchesOf(thin!, grouped)).filter(([name]) => name.startsWith('thin'))
      expect.soft(Object.fromEntries(used)).toEqual(kernels)
      expect(Object.keys(launchesOf(classic!, recorded)).join()).not.toContain('thin')
      const [own, other] = [await runTwice(thin!, grouped), await runTwice(classic!, recorded)]
      expect([...own.keys()]).toEqual([...other.keys()])
      for (const [name, bytes] of own) expect(countDifferent(bytes, other.get(name)!), name).toBe(0)
    },
    600_000,
  )
}

function chooseLaunches(): void {
  let engine: CudaEngine
  const attrs = { alpha: 1, arithmetic: 'bf16', dtype: 'bf16' } as const
  beforeAll(async () => {
    engine = await openEngine('', {})
  }, 600_000)
  afterAll(() => {
    engine.close()
    vi.unstubAllEnvs()
  })

  test('a product that reads the result of another one has a launch of its own', () => {
    const g = createRecorder()
    const [x, A, B] = [
      g.input('x', 'bf16', [70, 128]),
      g.input('A', 'bf16', [16, 128]),
      g.input('B', 'bf16', [24, 16]),
    ]
    const { y: z } = g.matmul_nt({ a: x, b: A }, attrs)
    const { y } = g.matmul_nt({ a: z, b: B }, attrs)
    expect(launchesOf(engine, g.finish({ y }))).toEqual({ thin_nt_16: 1, thin_nt_32: 1 })
  })

  test.each([
    // Where the first product reads and writes, and where the second one writes.
    { what: 'overlaps an input', places: [{ offset: 0 }, { offset: 1 << 20 }, { offset: 0 }], launches: 2 },
    { what: 'overlaps a result', places: [{ offset: 1 << 20 }, { offset: 0 }, { offset: 0 }], launches: 2 },
    { what: 'is an input', places: [{ binding: 'x' }, { offset: 0 }, { binding: 'x' }], launches: 2 },
    { what: 'is apart', places: [{ binding: 'x' }, { offset: 0 }, { offset: 1 << 20 }], launches: 1 },
  ])(
    'two products have $launches launches if a result $what',
    ({ places: [read, written, last], launches }) => {
      const g = createRecorder()
      const input = (name: string, rows: number) => g.input(name, 'bf16', [rows, 128])
      const [x, other, A] = [input('x', 70), input('other', 70), input('A', 16)]
      const one = g.matmul_nt({ a: x, b: A }, attrs).y
      const two = g.matmul_nt({ a: other, b: A }, attrs).y
      const places = new Map([
        [x, read!],
        [other, { binding: 'other' }],
        [A, { binding: 'A' }],
        [one, written!],
        [two, last!],
      ])
      expect(engine.launches(engine.compile(flatten(g.finish({}), places)))).toEqual({ thin_nt_16: launches })
    },
  )

  test.each([
    { what: 'a rank that is not a multiple of 8', rank: 12, kernel: 'matmul_nn_64' },
    { what: 'more than 64 columns', rank: 72, kernel: 'matmul_nn_64' },
    { what: 'a rank of 64', rank: 64, kernel: 'thin_grad_64' },
  ])('$what is multiplied by $kernel', ({ rank, kernel }) => {
    const g = createRecorder()
    const [a, b] = [g.input('dy', 'bf16', [70, 128]), g.input('B', 'bf16', [128, rank])]
    const { y } = g.matmul_nn({ a, b }, { ...attrs, stream: 0 })
    expect(Object.keys(launchesOf(engine, g.finish({ y })))).toContain(kernel)
  })
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe.each(MODES)('on the emulated card, %o', compareKernels)
  describe('launches', chooseLaunches)
} else
  test('without nvcc the engine reports that it needs nvcc', async () => {
    await expect(openEngine('', {})).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
