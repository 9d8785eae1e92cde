/** LoRA steps with random weights on two engines, and how far their losses and gradients are apart. */
import type { Engine } from '@cairn-tune/native'
import type { MatmulName, RECIPES, ShapeName } from '@cairn-tune/train'
import { prepareLoraStep } from '../bench/lora-step.ts'

export type StepOptions = {
  shape: ShapeName
  recipe: (typeof RECIPES)[number]
  compute: 'f32' | 'bf16'
  isDora: boolean
  matmul?: MatmulName
  tokens: number
  flags?: readonly string[]
}

export type StepResult = { loss: number; gradients: Map<string, Float32Array> }

/** Loss and gradients of the second of two micro-steps, so that a recorded graph is run again. */
export async function stepOf(engine: Engine, options: StepOptions): Promise<StepResult> {
  const layers = options.shape === 'tiny' ? 2 : 4
  const step = await prepareLoraStep(engine, { ...options, layers, rows: 2, isWhole: true })
  await step.run()
  const { loss } = await step.run()
  return { loss, gradients: await step.gradients() }
}

/** How far one is from another: the loss by its size, gradients by the norm of all of them. */
export function gapOf(own: StepResult, other: StepResult): { loss: number; gradients: number } {
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
 * rounded to few bits, only the order of sums differs. Elsewhere that turns single roundings over, and what
 * follows from one of them differs by a step of the format: two instruction sets of the CPU are as far apart.
 * Whether a rounding is right is tested op by op.
 */
export const FIGURES = {
  exact: { loss: 1e-5, gradients: 2e-3 },
  bf16: { loss: 5e-5, gradients: 1e-2 },
  fp8: { loss: 2e-4, gradients: 1e-1 },
  fp4: { loss: 1e-3, gradients: 2.5e-1 },
}

export const figureOf = ({ recipe, compute }: StepOptions) =>
  FIGURES[recipe === 'fp8' || recipe === 'fp4' ? recipe : compute === 'f32' ? 'exact' : 'bf16']
