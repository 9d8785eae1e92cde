/**
 * Layers that a recipe leaves in bf16 (contract T2 allows this for fp4's last layers): their storage, their
 * arithmetic, and their memory.
 */
import { afterAll, expect, test } from 'vitest'
import type { Recipe } from '@cairn-tune/train'
import { configOfShape } from '../src/new-model.ts'
import { recordMicroStep } from '../src/record-step.ts'
import { createBench, losses, textsOf } from './run.ts'

const bench = await createBench()
afterAll(bench.remove)
const model = configOfShape('tiny', { num_hidden_layers: 4 })
const layerOf = (name: string) => Number(/layers\.(\d+)\./.exec(name)?.[1])

/** By layer: the dtypes in which its projections are stored, and the arithmetic of the ops that read them. */
function layersOf(
  recipe: Recipe,
  skip: { skip_quant_first_layers?: number; skip_quant_last_layers?: number },
) {
  const { program, base } = recordMicroStep(
    model,
    bench.config({ dataset: 'none', recipe, max_seq_length: 32, ...skip }),
    { boundaries: 3, plainDtype: () => 'bf16', logitRows: 512, copiesAdapters: false },
  )
  const projections = base.filter(({ name }) => name.endsWith('_proj.weight'))
  const storage = Array.from({ length: 4 }, (_, layer) => [
    ...new Set(projections.filter(({ name }) => layerOf(name) === layer).map(({ dtype }) => dtype)),
  ])
  const readers = program.steps.flatMap(({ op, inputs, attrs }) => {
    const weight = Object.values(inputs)
      .map(tensor => tensor?.name ?? '')
      .find(name => name.endsWith('_proj.weight'))
    return weight === undefined
      ? []
      : { op, layer: layerOf(weight), arithmetic: (attrs as { arithmetic?: unknown }).arithmetic }
  })
  const arithmetic = Array.from({ length: 4 }, (_, layer) => [
    ...new Set(readers.filter(reader => reader.layer === layer).map(reader => reader.arithmetic)),
  ])
  return {
    storage,
    arithmetic,
    histories: program.tensors
      .filter(({ name }) => name?.startsWith('amax:'))
      .map(({ name }) => layerOf(name ?? '')),
  }
}

/** Promise T2: Layers that a recipe skips are stored and multiplied in bf16. */
test('fp4: the last layers are stored and multiplied in bf16, the others in NVFP4', () => {
  const { storage, arithmetic } = layersOf('fp4', { skip_quant_last_layers: 2 })
  expect(storage).toEqual([['nvfp4'], ['nvfp4'], ['bf16'], ['bf16']])
  expect(arithmetic).toEqual([['nvfp4'], ['nvfp4'], ['bf16'], ['bf16']])
})

test('fp8: a skipped layer keeps no history of magnitudes', () => {
  const { storage, arithmetic, histories } = layersOf('fp8', {
    skip_quant_first_layers: 1,
    skip_quant_last_layers: 1,
  })
  expect(storage).toEqual([['bf16'], ['fp8_tensor'], ['fp8_tensor'], ['bf16']])
  expect(arithmetic).toEqual([['bf16'], ['fp8_hybrid'], ['fp8_hybrid'], ['bf16']])
  expect([...new Set(histories)]).toEqual([1, 2])
})

test('a base only stored in 4 bits is multiplied in bf16 everywhere', () => {
  const { storage, arithmetic } = layersOf('qbnb', { skip_quant_last_layers: 1 })
  expect(storage).toEqual([['nf4'], ['nf4'], ['nf4'], ['bf16']])
  expect(arithmetic).toEqual(Array.from({ length: 4 }, () => ['bf16']))
})

test('fp4 with its last layer in bf16 takes memory between both; with all layers skipped it equals bf16', async () => {
  const settings = {
    dataset: bench.writeTexts('skip', textsOf(32, 8)),
    gradient_accumulation_steps: 2,
    max_steps: 2,
    threads: 2,
  }
  const runs = await Promise.all(
    [
      {},
      { recipe: 'fp4' },
      { recipe: 'fp4', skip_quant_last_layers: 1 },
      { recipe: 'fp4', skip_quant_first_layers: 1, skip_quant_last_layers: 1 },
    ].map(more => bench.run({ ...settings, ...more })),
  )
  const [plain, whole, last, all] = runs.map(run => ({ losses: losses(run), weights: run.memory.weights }))
  expect(all).toEqual(plain)
  expect(last?.losses).not.toEqual(plain?.losses)
  expect(last?.losses).not.toEqual(whole?.losses)
  expect(last?.weights).toBe(((plain?.weights ?? 0) + (whole?.weights ?? 0)) / 2)
})

test('rejects skipping more layers than the model has', async () => {
  await expect(
    bench.run({ dataset: bench.writeTexts('more', ['a']), recipe: 'fp4', skip_quant_last_layers: 3 }),
  ).rejects.toThrow(
    /skip_quant_first_layers and skip_quant_last_layers: 3 layers would stay bf16, but .* has only 2/,
  )
})
