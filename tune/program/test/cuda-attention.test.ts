/**
 * Attention and its gradient on an emulated card of compute capability 9.0, whose kernels multiply by
 * warpgroups: beside the oracle, and bit for bit beside the classic kernels, which add the same products in
 * the same order. `npm run test:cuda` runs every case in each order of warps and copies.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Settings } from '@cairn-tune/emulator'
import { stubEmulator } from '@cairn-tune/emulator/test/stub-emulator'
import { createCudaEngine, findNvcc, nvccCandidates, type CudaEngine } from '@cairn-tune/native'
import { everyNth, RUN_ALL } from '@cairn-tune/ops/test/sample'
import { countDifferent } from './byte-cases.ts'
import { CASES } from './cases.ts'
import { kernelsOf, relativeError, runNative, runOracle, TOLERANCE, type Value } from './one-op.ts'

type Case = (typeof CASES)[number]

const ATTENTIONS = CASES.filter(({ op, dtype }) => /^attention(_grad)?$/.test(op) && dtype === 'bf16')
/** Several tiles of 128 and of 64 numbers, and documents that end inside tiles: a result and its gradient. */
const LONG = ATTENTIONS.filter(({ name }) => /^0\|(1\|200|130)\|391/.test(name))
const NARROW = LONG.slice(2)
/** Window and sink. */
const WINDOWED = ATTENTIONS.filter(({ op, name }) => op === 'attention' && name.startsWith('0|60|391'))

const ORDERS: readonly (readonly [string, Settings, readonly Case[]])[] = [
  ['with warps in turn', {}, [...new Set([...LONG, ...WINDOWED, ...everyNth(24, ATTENTIONS)])]],
  ['with a seeded random order of warps', { CAIRN_EMULATOR_SEED: '1' }, NARROW],
  ['with copies that complete at once', { CAIRN_EMULATOR_COPIES: 'at-once' }, NARROW],
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

/**
 * The results of a case. The scale of a gradient is a power of two: multiplying by it rounds nothing, so that
 * a fused multiply-add has the bits of two instructions.
 */
function runExact(engine: CudaEngine, { op, inputs, attrs }: Case) {
  const scale = 2 ** Math.floor(Math.log2(Number(attrs['scale'])))
  return runNative(engine, op, inputs, op === 'attention' ? attrs : { ...attrs, scale })
}

function expectClose(outputs: Record<string, Value>, expected: Record<string, Float64Array>): void {
  for (const [name, { numbers }] of Object.entries(outputs))
    expect(relativeError(numbers, expected[name] ?? []), name).toBeLessThanOrEqual(TOLERANCE.bf16 ?? 0)
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
    (RUN_ALL ? ATTENTIONS : sample).map(one => ({ ...one, order })),
  )
  test.each(cases)(
    '$op $name $order',
    async ({ order, ...one }) => {
      const engine = engines.get(order)!
      expectClose(
        await runNative(engine, one.op, one.inputs, one.attrs),
        runOracle(one.op, one.inputs, one.attrs),
      )
      const [own, other] = [await runExact(engine, one), await runExact(classic, one)]
      for (const [name, { bytes }] of Object.entries(own))
        expect(countDifferent(bytes, other[name]?.bytes ?? new Uint8Array()), name).toBe(0)
    },
    120_000,
  )

  test('the gradient reads the result and the lse of the kernels for warpgroups', async () => {
    const engine = engines.get(ORDERS[0]![0])!
    const [forward, gradient] = [LONG[0]!, LONG[1]!]
    const { y, lse } = await runNative(engine, forward.op, forward.inputs, forward.attrs)
    const inputs = { ...gradient.inputs, y, lse }
    expectClose(
      await runNative(engine, gradient.op, inputs, gradient.attrs),
      runOracle(gradient.op, gradient.inputs, gradient.attrs),
    )
  })

  test('kernels for warpgroups run unless the classic ones are chosen', () => {
    const names = (engine: CudaEngine) =>
      LONG.map(({ op, inputs, attrs }) => kernelsOf(engine, op, inputs, attrs))
    const expected = (by: string) =>
      [128, 64].flatMap(width => [
        [`attention${by}_${width}`],
        ['attention_delta', `attention_dq${by}_${width}`, `attention_dkv${by}_${width}`],
      ])
    expect(names(engines.get(ORDERS[0]![0])!)).toEqual(expected('_wgmma'))
    expect(names(classic)).toEqual(expected(''))
  })

  test('an unknown choice of kernels is refused', async () => {
    await expect(createEngineOf({}, 'classical')).rejects.toThrow(
      'Invalid CAIRN_TUNE_KERNELS "classical": must be "classic", "bulk" or "bulk-all".',
    )
  })
}

if (findNvcc(nvccCandidates(process.env)) !== undefined) describe('attention by warpgroups', compareKernels)
else
  test('without nvcc the engine reports that it needs nvcc', async () => {
    await expect(createEngineOf({})).rejects.toThrow('requires nvcc, which was not found')
  }, 600_000)
