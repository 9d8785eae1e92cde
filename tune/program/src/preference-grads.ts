/** Gradients of the ops of preference training. */
import { ONE, type Backward, type GradientContext, type Gradient } from './gradient-context.ts'
import type { Tensor } from './program.ts'

export const tokenLogps: Backward = ({ g, step, input, output, grad, isWanted }) => {
  if (isWanted('weight')) throw new Error('[token_logps] has no gradient for its weight')
  const { arithmetic, chunk, scale, softcap } = step.attrs
  return {
    parts: {
      x: g.token_logps_grad(
        {
          dlogps: grad('logps'),
          lse: output('lse'),
          x: input('x'),
          weight: input('weight'),
          targets: input('targets'),
        },
        {
          arithmetic: arithmetic === 'bf16' ? 'bf16' : 'f32',
          chunk: Number(chunk),
          scale: Number(scale ?? 0),
          softcap: Number(softcap ?? 0),
        },
      ).dx,
    },
  }
}

export const segmentSums: Backward = ({ g, input, grad }) => ({
  parts: { x: g.segment_sums_grad({ dy: grad('y'), segments: input('segments') }, {}).dx },
})

/** The forward pass saved the gradients of a loss for its inputs. */
function saved({ g, output, lossGrad }: GradientContext, of: Readonly<Record<string, string>>) {
  const loss: Gradient = lossGrad('loss')
  const times = (x: Tensor) => (loss === ONE ? x : g.scale({ x, factor: loss }, {}).y)
  return {
    parts: Object.fromEntries(Object.entries(of).map(([input, name]) => [input, times(output(name))])),
  }
}

export const dpoLoss: Backward = flow => saved(flow, { scores: 'dscores' })
export const ktoLoss: Backward = flow => saved(flow, { scores: 'dscores' })
export const orpoLoss: Backward = flow => saved(flow, { scores: 'dscores', likelihood: 'dlikelihood' })
