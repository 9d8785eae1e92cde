/** DoRA, rank patterns and dropout against PEFT: losses and all gradients of the adapter. */
import { afterAll, describe, expect, test } from 'vitest'
import { createEngine } from '@cairn-tune/native'
import { readAdapterGolden, type Golden } from './golden-file.ts'
import { distance, openGolden } from './golden-model.ts'

// Not in a hook: a fresh clone compiles the kernels first, which takes longer than the hook timeout.
const engine = await createEngine({ threads: 2 })
afterAll(() => engine.close())

const TOLERANCE = 1e-5

async function farthest(kind: string, golden: Golden): Promise<number> {
  const { tensors, run } = openGolden(
    engine,
    golden,
    'families/qwen3.safetensors',
    `adapters/${kind}.safetensors`,
  )
  const trained = [...tensors.keys()].filter(name => /\.lora_(?:[AB]\.weight|magnitude_vector)$/.test(name))
  const outputs = await run(true)
  return Math.max(
    ...['losses', ...trained.map(name => `${name}.grad`)]
      .filter(name => outputs.has(name))
      .map(name => distance(outputs.get(name)!, tensors.get(`lora.${name}`) ?? new Float32Array())),
  )
}

describe.each(['dora', 'patterns', 'patterns_rslora', 'dora_patterns', 'dropout'])('%s', kind => {
  const golden = readAdapterGolden(kind)

  /** Promise T4.1: DoRA, rank patterns and dropout train as in PEFT. */
  test('losses and gradients match PEFT', async () => {
    expect(await farthest(kind, golden)).toBeLessThan(TOLERANCE)
  })

  // Without rank_pattern the matrices would have other shapes.
  const always = ['lora_rank', 'lora_alpha', 'rank_pattern']
  test.each(Object.keys(golden.lora).filter(key => !always.includes(key)))(
    'without %s the outputs differ',
    async key => {
      const lora = { ...golden.lora, [key]: undefined }
      expect(await farthest(kind, { ...golden, lora })).toBeGreaterThan(1e3 * TOLERANCE)
    },
  )
})

test('another random seed drops other values', async () => {
  const golden = readAdapterGolden('dropout')
  const [low = 0, high = 0, step = 0] = golden.random ?? []
  expect(await farthest('dropout', { ...golden, random: [low, high, step + 1] })).toBeGreaterThan(1e-2)
})
