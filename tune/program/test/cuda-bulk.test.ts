/**
 * Products that load their operands by tensor maps (CAIRN_TUNE_KERNELS) have the bytes of the kernels that
 * they replace, in any order of warps and wherever copies complete.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, findNvcc, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import type { Attrs, Dtype, OpName } from '@cairn-tune/ops'
import { everyNth } from '@cairn-tune/ops/test/sample'
import { CASES } from './cases.ts'
import { kernelsOf, noise, runNative, tensor, type Values } from './one-op.ts'

type Product = { op: OpName; name: string; inputs: Values; attrs: Attrs }
type Extras = { rank?: number; dtype?: Dtype; arithmetic?: string; addend?: Dtype; bias?: Dtype }

/** An engine on an emulated card of capability 90. */
async function openEngine(kernels: string, settings: Settings): Promise<CudaEngine> {
  await stubEmulator({ CAIRN_EMULATOR_CAPABILITY: '90', ...settings })
  vi.stubEnv('CAIRN_TUNE_KERNELS', kernels)
  return await createCudaEngine()
}

/** Products with results of m×n and sums of k, and of a second pair's rank, in each form. */
function products(m: number, n: number, k: number, extras: Extras = {}): Product[] {
  const { rank = 0, dtype = 'bf16', arithmetic = 'bf16' } = extras
  const named = Object.entries(extras).map(([name, value]) => `${name} ${value}`)
  const name = [`${m}×${n}×${k}`, ...named].join(', ')
  const attrs = { alpha: 0.5, arithmetic, dtype }
  const bf16 = (rows: number, columns: number, seed: number) => noise('bf16', [rows, columns], seed)
  const addend = extras.addend && noise(extras.addend, [m, n], 5)
  const more = {
    addend,
    ...(rank > 0 && { a2: bf16(m, rank, 3) }),
    ...(arithmetic !== 'bf16' && { a_amax: tensor('f32', [1], [1]) }),
  }
  const [nt, nn] = rank > 0 ? [{ b2: bf16(n, rank, 4) }, { b2: bf16(rank, n, 4) }] : [{}, {}]
  const bias = extras.bias && noise(extras.bias, [n], 6)
  const a = bf16(m, k, 1)
  const list: Product[] = [
    { op: 'matmul_nt', name, inputs: { a, b: bf16(n, k, 2), ...more, ...nt, bias }, attrs },
    {
      op: 'matmul_nn',
      name,
      inputs: { a, b: bf16(k, n, 2), ...more, ...nn },
      attrs: { ...attrs, stream: 0 },
    },
  ]
  if (rank > 0 || arithmetic !== 'bf16') return list
  return [...list, { op: 'matmul_tn', name, inputs: { a: bf16(k, m, 1), b: bf16(k, n, 2), addend }, attrs }]
}

/** The emulated card has four processors, so blocks compute several tiles where there are more than four. */
const PRODUCTS = [
  ...products(128, 256, 64),
  ...products(200, 520, 136),
  ...products(31, 40, 2104),
  ...products(300, 8, 1040, { dtype: 'f32' }),
  ...products(1, 256, 640),
  ...products(65, 131, 50, { addend: 'f32', dtype: 'f32' }),
  ...products(200, 520, 136, { rank: 16, addend: 'bf16' }),
  ...products(300, 49, 65, { rank: 3, dtype: 'f32', bias: 'f32' }),
  ...products(520, 1040, 328),
  ...products(130, 264, 1096, { rank: 40, arithmetic: 'fp8_hybrid', dtype: 'f32' }),
]

/** Products of the other tests, and heads, whose number of rows only the card knows. */
const OTHERS = CASES.filter(({ op, attrs }) => /^matmul|^head/.test(op) && attrs['arithmetic'] === 'bf16')

const MODES: Settings[] = [
  {},
  { CAIRN_EMULATOR_SEED: '1' },
  { CAIRN_EMULATOR_COPIES: 'at-once' },
  { CAIRN_EMULATOR_COPIES: 'drawn', CAIRN_EMULATOR_SEED: '2' },
]

function compareKernels(): void {
  describe.each(MODES)('%o', mode => {
    let [present, bulk]: CudaEngine[] = []
    beforeAll(async () => {
      present = await openEngine('', {})
      bulk = await openEngine('bulk-all', mode)
    }, 600_000)
    afterAll(() => {
      present?.close()
      bulk?.close()
      vi.unstubAllEnvs()
    })
    const compare = async ({ op, inputs, attrs }: Product) => {
      const own = await runNative(bulk!, op, inputs, attrs)
      for (const [name, { bytes }] of Object.entries(await runNative(present!, op, inputs, attrs)))
        expect(Buffer.compare(own[name]!.bytes, bytes), name).toBe(0)
    }

    test.each(everyNth(8, PRODUCTS, MODES.indexOf(mode)))('$op $name', async product => {
      const { op, inputs, attrs } = product
      expect(kernelsOf(bulk!, op, inputs, attrs)).toContain(`bulk_${op.slice(-2)}_256`)
      expect(kernelsOf(present!, op, inputs, attrs).join()).not.toContain('bulk')
      await compare(product)
    })

    test.each(everyNth(96, OTHERS, MODES.indexOf(mode)))('$op, $dtype: $name', async one => {
      expect(kernelsOf(bulk!, one.op, one.inputs, one.attrs).join()).toMatch(
        /\bbulk_(nt|nn|tn)_(swiglu_grad_)?256/,
      )
      await compare(one)
    })
  })
}

function chooseKernels(): void {
  let engine: CudaEngine | undefined
  afterEach(() => {
    engine?.close()
    vi.unstubAllEnvs()
  })
  const large = products(1280, 3072, 8)[0]!
  const small = products(128, 256, 64)[0]!
  const open = async (kernels: string, settings: Settings = {}) =>
    (engine = await openEngine(kernels, settings))
  const kernelOf = (engine: CudaEngine, { op, inputs, attrs }: Product) =>
    kernelsOf(engine, op, inputs, attrs)
      .filter(name => name !== 'stage')
      .join()

  test('bulk replaces only the widest tiles', async () => {
    const engine = await open('bulk')
    expect([kernelOf(engine, large), kernelOf(engine, small)]).toEqual(['bulk_nt_256', 'matmul_nt_64'])
  }, 600_000)

  test('other cards, stored weights, experts and f32 arithmetic keep their kernels', async () => {
    const { op, inputs, attrs } = small
    const bf16 = await open('bulk-all')
    const stored = { ...inputs, b: noise('nf4', [256, 64], 2) }
    expect(kernelsOf(bf16, op, stored, attrs).join()).toBe('matmul_nt_nf4_64')
    const experts = { ...inputs, b: noise('bf16', [2, 256, 64], 2), ends: tensor('i32', [2], [50, 128]) }
    expect(kernelsOf(bf16, 'expert_matmul_nt', experts, attrs).join()).toBe('matmul_nt_64')
    const f32 = { ...attrs, arithmetic: 'f32', dtype: 'f32' }
    expect(kernelsOf(bf16, op, inputs, f32).join()).toBe('matmul_f32')
    bf16.close()
    const older = await open('bulk-all', { CAIRN_EMULATOR_CAPABILITY: '80' })
    expect(kernelOf(older, small)).toBe('matmul_nt_64')
  }, 600_000)

  test('rejects another value', async () => {
    await expect(open('bulky')).rejects.toThrow(
      'Invalid CAIRN_TUNE_KERNELS "bulky": must be "classic", "bulk" or "bulk-all".',
    )
  })
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) {
  describe('on the emulated card', compareKernels)
  describe('CAIRN_TUNE_KERNELS', chooseKernels)
} else {
  test('without nvcc the engine reports that it needs nvcc', async () => {
    await expect(openEngine('bulk', {})).rejects.toThrow('requires nvcc, which was not found')
    vi.unstubAllEnvs()
  }, 600_000)
}
