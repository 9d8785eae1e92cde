/**
 * gpt-oss with four layers, alternately with and without a window, against transformers: logits, losses and
 * gradients of an adapter, and the effect of its windows, sinks and kinds of layers.
 */
import { afterAll, describe, expect, test } from 'vitest'
import { createEngine } from '@cairn-tune/native'
import type { ModelConfig } from '@cairn-tune/models'
import { readGptOss } from './golden-file.ts'
import { openGolden } from './golden-model.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

const TOLERANCE = 2e-5
const LAYERS = 4

const largest = (values: Float32Array) => values.reduce((max, value) => Math.max(max, Math.abs(value)), 0)

/** The largest difference, relative to the largest expected value. */
function distance(actual: Float32Array | undefined, expected: Float32Array): number {
  if (actual?.length !== expected.length) return Infinity
  return largest(actual.map((value, i) => value - (expected[i] ?? 0))) / largest(expected)
}

const withWindows = (config: ModelConfig, windowOf: (window: number, layer: number) => number) => ({
  ...config,
  layers: config.layers.map((layer, i) => ({ ...layer, window: windowOf(layer.window, i) })),
})

describe.each([8, 128])('a window of %d keys', size => {
  const files = ['weights', `window_${size}`].map(name => `gpt_oss/${name}.safetensors`)
  const { config, tensors, run, missing } = openGolden(engine, readGptOss(size), ...files)
  const expected = [...tensors].filter(([name]) => name.startsWith('lora.'))

  async function farthest(changed: ModelConfig): Promise<number> {
    const outputs = await run(true, changed)
    return Math.max(
      ...expected.map(([name, values]) => distance(outputs.get(name.slice('lora.'.length)), values)),
    )
  }

  /**
   * Promise T3: gpt-oss with sliding windows of 8 and 128 keys has the logits, losses and gradients of
   * transformers.
   */
  test('logits, losses and gradients of q, k, v, o and experts match transformers', async () => {
    const projections = ['q_proj', 'k_proj', 'v_proj', 'o_proj', 'gate_up_proj', 'down_proj']
    expect(expected.length).toBe(2 + LAYERS * projections.length * 2)
    expect(missing()).toEqual([])
    expect(await farthest(config)).toBeLessThan(TOLERANCE)
  })

  test.each<[string, ModelConfig]>([
    ['no windows', withWindows(config, () => 0)],
    ['one key less', withWindows(config, window => window && window - 1)],
    ['one key more', withWindows(config, window => window && window + 1)],
    ['no sinks', { ...config, sinks: false }],
    ...Array.from({ length: LAYERS }, (_, l): [string, ModelConfig] => [
      `layer ${l} of the other kind`,
      withWindows(config, (window, i) => (i === l ? size - window : window)),
    ]),
  ])('with %s they differ', async (_, changed) => {
    expect(await farthest(changed)).toBeGreaterThan(5e3 * TOLERANCE)
  })
})
