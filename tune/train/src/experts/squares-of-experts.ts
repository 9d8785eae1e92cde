/**
 * Sums of squares of gradients whose experts are divided among ranks. They are computed from the gradients of
 * all experts, so that their order is that of one rank.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { byteLength } from '@cairn-tune/ops'
import { createRecorder, outputBinding, prepare, type PreparedProgram } from '@cairn-tune/program'
import type { RankGroup } from '../ranks/group.ts'
import { gradientOf, type Trained } from '../record-step.ts'
import { squaresOf } from '../record-update.ts'
import { readWhole, wholeOf } from './expert-share.ts'

export type ExpertSquares = {
  /** Buffers with a sum of squares each, by name. */
  buffers: Readonly<Record<string, DeviceBuffer>>
  /** Computes the sums of squares of the present gradients. */
  compute(): Promise<void>
}

export function createExpertSquares(
  engine: Engine,
  group: RankGroup,
  trained: readonly Trained[],
  gradients: ReadonlyMap<string, DeviceBuffer>,
): ExpertSquares {
  const divided = trained.filter(({ slice }) => slice)
  const programs = new Map<string, { program: PreparedProgram; x: DeviceBuffer }>()
  const bytes = divided.map(tensor => byteLength('f32', wholeOf(tensor).shape))
  const whole = engine.allocate(Math.max(4, ...bytes))
  const programFor = (shape: Trained['shape']) => {
    const key = shape.join()
    const known = programs.get(key)
    if (known) return known
    const g = createRecorder()
    const { y } = g.sum_squares({ x: g.input('x', 'f32', shape) }, {})
    const made = {
      program: prepare(engine, g.finish({ y })),
      x: engine.part(whole, 0, byteLength('f32', shape)),
    }
    programs.set(key, made)
    return made
  }
  const buffers = Object.fromEntries(divided.map(({ name }) => [squaresOf(name), engine.allocate(4)]))
  return {
    buffers,
    async compute() {
      for (const tensor of divided) {
        const own = gradients.get(gradientOf(tensor.name))
        if (!own) throw new Error(`[createExpertSquares] no gradient of ${tensor.name}`)
        const { program, x } = programFor(wholeOf(tensor).shape)
        engine.write(x, await readWhole(group, { ...tensor, dtype: 'f32' }, () => engine.read(own)))
        const y = buffers[squaresOf(tensor.name)]
        if (y) await program.run({ x, [outputBinding('y')]: y })
      }
    },
  }
}
