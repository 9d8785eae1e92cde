/**
 * Tests LoRA steps of the CUDA engine on the card at hand (`npm run dev -- interop:cuda`): two shapes in
 * every recipe, loss and gradients against the CPU's. Prints a table; the exit code says whether all of it
 * holds. Arguments: a recipe, a shape and a number of tokens to try alone.
 */
import { createCudaEngine, createEngine, type Engine } from '@cairn-tune/native'
import { RECIPES, type ShapeName } from '@cairn-tune/train'
import { prepareLoraStep } from '../bench/lora-step.ts'

type StepOptions = { shape: ShapeName; recipe: (typeof RECIPES)[number]; compute: 'f32' | 'bf16' }

const [only, onlyShape, tokens = '512'] = process.argv.slice(2)
const started = performance.now()
const log = (line: string) => console.log(line)
const [onCard, onProcessor] = await Promise.all([createCudaEngine({ log }), createEngine({ log })])
using card = onCard
using cpu = onProcessor
console.log(`${card.isa}; beside it ${cpu.isa}, ${cpu.threads} threads`)

type StepResult = { loss: number; gradients: Map<string, Float32Array> }

/** Loss and gradients of the second of two micro-steps, so that a recorded graph is run again. */
async function stepOf(engine: Engine, options: StepOptions): Promise<StepResult> {
  const layers = options.shape === 'tiny' ? 2 : 4
  const step = await prepareLoraStep(engine, {
    ...options,
    layers,
    tokens: Number(tokens),
    rows: 2,
    isWhole: true,
  })
  await step.run()
  const { loss } = await step.run()
  return { loss, gradients: await step.gradients() }
}

/** How far one is from another: the loss by its size, gradients by the norm of all of them. */
function gapOf(own: StepResult, other: StepResult): { loss: number; gradients: number } {
  let [gap, size] = [0, 0]
  for (const [name, values] of other.gradients) {
    const mine = own.gradients.get(name) ?? new Float32Array()
    for (const [i, value] of values.entries()) {
      gap += ((mine[i] ?? NaN) - value) ** 2
      size += value ** 2
    }
  }
  return { loss: Math.abs(own.loss - other.loss) / Math.abs(other.loss), gradients: Math.sqrt(gap / size) }
}

/**
 * How far a step may be from the CPU's: the loss by its size, all gradients by their norm. Where nothing is
 * rounded to few bits the sums' order is all that differs. Elsewhere it turns roundings over, and what
 * follows from one that is turned over differs by a step of the format: two instruction sets of the CPU are
 * as far apart, which the table shows beside. Whether a rounding is right is judged above, op by op.
 */
const FIGURES = {
  exact: { loss: 1e-5, gradients: 2e-3 },
  bf16: { loss: 5e-5, gradients: 1e-2 },
  fp8: { loss: 2e-4, gradients: 1e-1 },
  fp4: { loss: 1e-3, gradients: 2.5e-1 },
}
const figureOf = ({ recipe, compute }: StepOptions) =>
  FIGURES[recipe === 'fp8' || recipe === 'fp4' ? recipe : compute === 'f32' ? 'exact' : 'bf16']

async function compareSteps(): Promise<boolean> {
  using plain = await createEngine({ isa: 'portable' })
  console.log(
    '| shape, recipe | activations | loss | loss apart | gradients apart, of their norm | two of the CPU apart | |',
  )
  console.log('|---|---|---|---|---|---|---|')
  let isSame = true
  for (const compute of ['f32', 'bf16'] as const) {
    for (const shape of ['tiny', 'small'] as const) {
      for (const recipe of RECIPES) {
        if ((only ?? recipe) !== recipe || (onlyShape ?? shape) !== shape) continue
        const options = { shape, recipe, compute }
        const name = `${shape}, ${recipe} | ${compute}`
        try {
          const [own, fast] = [await stepOf(card, options), await stepOf(cpu, options)]
          const [apart, among] = [gapOf(own, fast), gapOf(await stepOf(plain, options), fast)]
          const figure = figureOf(options)
          const holds = apart.loss <= figure.loss && apart.gradients <= figure.gradients
          isSame &&= holds
          console.log(
            `| ${name} | ${own.loss.toFixed(6)} | ${apart.loss.toExponential(1)} | ` +
              `${apart.gradients.toExponential(1)} | ${among.loss.toExponential(1)}, ` +
              `${among.gradients.toExponential(1)} | ${holds ? 'holds' : 'WRONG'} |`,
          )
        } catch (error) {
          isSame = false
          console.log(`| ${name} | | | | | ${String(error)} |`)
        }
      }
    }
  }
  return isSame
}

const isRight = await compareSteps()
const seconds = ((performance.now() - started) / 1000).toFixed(1)
console.log(`${isRight ? 'all of it holds' : 'NOT all of it holds'}, ${seconds} s`)
process.exitCode = isRight ? 0 : 1
