/**
 * LoRA micro-steps on a card with random weights (`npm run dev -- bench:cuda`): tokens per second of whole
 * micro-steps as graphs, the median of the repeats, then the time of each op. The benchmark's micro-batch:
 * two rows of 2048, rank 16 on all projections. Arguments: shape (qwen3-0.6b), layers (all), repeats (5),
 * recipes (all), `ops` for the second table.
 */
import { createCudaEngine, type CudaEngine } from '@cairn-tune/native'
import { RECIPES, SHAPES, configOfShape, type Recipe, type ShapeName } from '@cairn-tune/train'
import { prepareLoraStep } from './lora-step.ts'

const [shapeGiven = 'qwen3-0.6b', layersGiven = '0', repeatsGiven = '5', recipesGiven = '', table = ''] =
  process.argv.slice(2)
if (!(shapeGiven in SHAPES)) throw new Error(`there is no shape ${shapeGiven}`)
const shape = shapeGiven as ShapeName
const whole = configOfShape(shape).num_hidden_layers
const layers = Number(layersGiven) || whole
const repeats = Number(repeatsGiven)
const recipes = RECIPES.filter(recipe => recipesGiven === '' || recipesGiven.split(',').includes(recipe))
const [rows, length] = [2, 2048]
const WARM_UP = 2

async function prepareOn(engine: CudaEngine, recipe: Recipe) {
  return await prepareLoraStep(engine, { recipe, shape, layers, rows, tokens: rows * length, isWhole: true })
}

async function measure(recipe: Recipe): Promise<void> {
  using engine = await createCudaEngine({ log: line => console.log(line) })
  if (engine.card.isEmulated) throw new Error('cannot measure the speed of an emulated GPU')
  const before = engine.freeBytes()
  const step = await prepareOn(engine, recipe)
  const seconds: number[] = []
  let loss = NaN
  for (let i = 0; i < WARM_UP + repeats; i++) {
    const start = performance.now()
    ;({ loss } = await step.run())
    if (i >= WARM_UP) seconds.push((performance.now() - start) / 1000)
  }
  const median = seconds.toSorted((a, b) => a - b)[Math.floor(repeats / 2)] ?? NaN
  const taken = (before - engine.freeBytes()) / 2 ** 30
  console.log(
    `| ${shape}, ${layers} of ${whole} layers | ${recipe} | ${((rows * length) / median).toFixed(0)} | ` +
      `${(median * 1000).toFixed(1)} | ${(step.flops / median / 1e12).toFixed(0)} | ${taken.toFixed(1)} | ` +
      `${loss.toFixed(3)} |`,
  )
}

async function showOps(recipe: Recipe): Promise<void> {
  using engine = await createCudaEngine({ isTimed: true })
  const step = await prepareOn(engine, recipe)
  await step.run()
  const { seconds } = await step.run()
  const total = seconds.reduce((sum, [, spent]) => sum + spent, 0)
  const shares = seconds.map(([op, spent]) => `${op} ${(spent * 1000).toFixed(1)}`)
  console.log(`${recipe}, op by op, ms of ${(total * 1000).toFixed(1)}: ${shares.join(', ')}`)
}

console.log('| shape | recipe | tokens/s | ms | useful TFLOP/s | GiB | loss |\n|---|---|---|---|---|---|---|')
for (const recipe of recipes) {
  try {
    await measure(recipe)
    if (table === 'ops') await showOps(recipe)
  } catch (error) {
    console.log(`| ${shape} | ${recipe} | | | | | ${String(error)} |`)
  }
}
