/**
 * Tests LoRA steps of the CUDA engine on the card at hand (`npm run dev -- interop:cuda`): two shapes in
 * every recipe, and with DoRA, loss and gradients against the CPU's. Prints a table; the exit code says
 * whether all of it holds. Arguments: a recipe, a shape and a number of tokens to try alone.
 */
import { createCudaEngine, createEngine } from '@cairn-tune/native'
import { RECIPES } from '@cairn-tune/train'
import { figureOf, gapOf, stepOf } from './card-steps.ts'

const [only, onlyShape, tokens = '512'] = process.argv.slice(2)
const started = performance.now()
const log = (line: string) => console.log(line)
const [onCard, onProcessor] = await Promise.all([createCudaEngine({ log }), createEngine({ log })])
using card = onCard
using cpu = onProcessor
console.log(`${card.isa}; beside it ${cpu.isa}, ${cpu.threads} threads`)

const VARIANTS = [
  ...RECIPES.map(recipe => ({ recipe, isDora: false })),
  { recipe: 'bf16', isDora: true },
  { recipe: 'qbnb', isDora: true },
] as const

async function compareSteps(): Promise<boolean> {
  using plain = await createEngine({ isa: 'portable' })
  console.log(
    '| shape, recipe | activations | loss | loss apart | gradients apart, of their norm | two of the CPU apart | |',
  )
  console.log('|---|---|---|---|---|---|---|')
  let isSame = true
  for (const compute of ['f32', 'bf16'] as const) {
    for (const shape of ['tiny', 'small'] as const) {
      for (const { recipe, isDora } of VARIANTS) {
        if ((only ?? recipe) !== recipe || (onlyShape ?? shape) !== shape) continue
        const options = { shape, recipe, compute, isDora, tokens: Number(tokens) }
        const name = `${shape}, ${recipe}${isDora ? ', DoRA' : ''} | ${compute}`
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
