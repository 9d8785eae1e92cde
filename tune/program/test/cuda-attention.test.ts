/**
 * The gradient of attention on an emulated card of compute capability 9.0, whose kernels multiply by
 * warpgroups: beside the oracle, and bit for bit beside the classic kernels, which add the same products in
 * the same order. `npm run test:cuda` runs every case in each order of warps and copies.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, findNvcc, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import { everyNth, RUN_ALL } from '@cairn-tune/ops/test/sample'
import { flatten } from '../src/flatten.ts'
import { planMemory } from '../src/plan.ts'
import { createRecorder } from '../src/record.ts'
import { countDifferent } from './byte-cases.ts'
import { CASES } from './cases.ts'
import { relativeError, runNative, runOracle, TOLERANCE } from './one-op.ts'

type Case = (typeof CASES)[number]

const GRADIENTS = CASES.filter(({ op, dtype }) => op === 'attention_grad' && dtype === 'bf16')
/** Several tiles of 128 and of 64 numbers, and documents that end inside tiles. */
const LONG = GRADIENTS.filter(({ name }) => /^0\|(1\|200|130)\|391/.test(name))

const ORDERS: readonly (readonly [string, Settings, readonly Case[]])[] = [
  ['with warps in turn', {}, [...new Set([...LONG, ...everyNth(24, GRADIENTS)])]],
  ['with a seeded random order of warps', { CAIRN_EMULATOR_SEED: '1' }, LONG.slice(1)],
  ['with copies that complete at once', { CAIRN_EMULATOR_COPIES: 'at-once' }, LONG.slice(1)],
]

async function createEngineOf(settings: Settings, kernels?: string): Promise<CudaEngine> {
  await stubEmulator({ ...settings, CAIRN_EMULATOR_CAPABILITY: '90' })
  vi.stubEnv('CAIRN_TUNE_KERNELS', kernels)
  try {
    return await createCudaEngine()
  } finally {
    vi.unstubAllEnvs()
  }
}

function launchesOf(engine: CudaEngine, { op, inputs, attrs }: Case): string[] {
  const g = createRecorder()
  const given = Object.fromEntries(
    Object.entries(inputs).map(([name, value]) => [name, value && g.input(name, value.dtype, value.shape)]),
  )
  const program = g.finish(g.step(op, given, attrs))
  return Object.keys(engine.launches(engine.compile(flatten(program, planMemory(program).placements))))
}

/**
 * The gradients of a case whose scale is a power of two. Multiplying by it rounds nothing, so that a fused
 * multiply-add has the bits of two instructions.
 */
function runExact(engine: CudaEngine, { op, inputs, attrs }: Case) {
  const scale = 2 ** Math.floor(Math.log2(Number(attrs['scale'])))
  return runNative(engine, op, inputs, { ...attrs, scale })
}

function compareKernels(): void {
  let classic: CudaEngine
  const engines = new Map<string, CudaEngine>()
  beforeAll(async () => {
    classic = await createEngineOf({}, 'classic')
    for (const [order, settings] of ORDERS) engines.set(order, await createEngineOf(settings))
  }, 600_000)
  afterAll(() => {
    for (const engine of [classic, ...engines.values()]) engine.close()
  })

  const cases = ORDERS.flatMap(([order, , sample]) =>
    (RUN_ALL ? GRADIENTS : sample).map(one => ({ ...one, order })),
  )
  test.each(cases)(
    '$name $order',
    async ({ order, ...one }) => {
      const engine = engines.get(order)!
      const outputs = await runNative(engine, one.op, one.inputs, one.attrs)
      const expected = runOracle(one.op, one.inputs, one.attrs)
      for (const [name, { numbers }] of Object.entries(outputs))
        expect(relativeError(numbers, expected[name] ?? []), name).toBeLessThanOrEqual(TOLERANCE.bf16 ?? 0)
      const [own, other] = [await runExact(engine, one), await runExact(classic, one)]
      for (const [name, { bytes }] of Object.entries(own))
        expect(countDifferent(bytes, other[name]?.bytes ?? new Uint8Array()), name).toBe(0)
    },
    120_000,
  )

  test('kernels for warpgroups run unless the classic ones are chosen', () => {
    const engine = engines.get(ORDERS[0]![0])!
    expect(LONG.map(one => launchesOf(engine, one))).toEqual(
      [128, 64].map(width => [
        'attention_delta',
        `attention_dq_wgmma_${width}`,
        `attention_dkv_wgmma_${width}`,
      ]),
    )
    expect(LONG.map(one => launchesOf(classic, one))).toEqual(
      [128, 64].map(width => ['attention_delta', `attention_dq_${width}`, `attention_dkv_${width}`]),
    )
  })

  test('an unknown choice of kernels is refused', async () => {
    await expect(createEngineOf({}, 'classical')).rejects.toThrow(
      'Invalid CAIRN_TUNE_KERNELS "classical": must be "classic", "bulk" or "bulk-all".',
    )
  })
}

if (findNvcc(nvccCandidates(process.env)) !== undefined)
  describe('the gradient of attention by warpgroups', compareKernels)
else
  test('without nvcc the engine reports that it needs nvcc', async () => {
    await expect(createEngineOf({})).rejects.toThrow('requires nvcc, which was not found')
  }, 600_000)
