/**
 * Prints the launches and bytes of LoRA micro-steps (`npm run dev -- emulated npm run dev -- counts:cuda`).
 * Nothing runs, so an emulated card is enough. Arguments: shapes, recipes (bf16), rows of logits.
 */
import { createCudaEngine } from '@cairn-tune/native'
import { RECIPES, SHAPES, type ShapeName } from '@cairn-tune/train'
import { countStep, type Counts } from './count-launches.ts'

const [shapes = 'qwen3-0.6b,qwen3-8b', recipes = 'bf16', logitRows] = process.argv.slice(2)
const isShape = (name: string): name is ShapeName => name in SHAPES
using engine = await createCudaEngine()
console.log(engine.isa)

const gigabytes = (bytes: number) => (bytes / 1e9).toFixed(2)
const text = ({ launches, bytes }: Counts) => `${launches} launches, ${gigabytes(bytes)} GB`
for (const shape of shapes.split(',').filter(isShape)) {
  for (const recipe of RECIPES.filter(one => recipes.split(',').includes(one))) {
    const { micro, norm, update } = countStep(engine, shape, {
      recipe,
      ...(logitRows === undefined ? {} : { logitRows: Number(logitRows) }),
    })
    console.log(`${shape} ${recipe}: micro-step ${text(micro)}; norm ${text(norm)}; update ${text(update)}`)
    console.log(
      `  activations ${gigabytes(micro.arenaBytes)} GB, scratch ${gigabytes(micro.scratchBytes)} GB`,
    )
    const kernels = Object.entries(micro.kernels).toSorted((a, b) => b[1] - a[1])
    console.log(`  ${kernels.map(([name, count]) => `${name} ${count}`).join(', ')}`)
  }
}
