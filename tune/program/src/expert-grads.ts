/** Gradients of the ops of a mixture of experts, other than its linears. */
import { ONE, number, type Backward } from './gradient-context.ts'

/** The choice of experts has no gradient; their weights have one. */
export const route: Backward = ({ g, step, input, output, grad }) => ({
  parts: {
    logits: g.route_grad(
      { dweights: grad('weights'), weights: output('weights'), ids: output('ids'), logits: input('logits') },
      { softmax_over_all: number(step, 'softmax_over_all'), sigmoid: number(step, 'sigmoid') },
    ).dlogits,
  },
})

/** A row's gradient is the sum of the gradients of its copies. */
export const expertRows: Backward = ({ g, input, grad, soFar }) => ({
  summed: {
    x: g.combine(
      { z: grad('y'), places: input('places'), addend: soFar('x') },
      { dtype: input('x').dtype === 'bf16' ? 'bf16' : 'f32' },
    ).y,
  },
})

export const combine: Backward = ({ g, step, input, grad, isWanted }) => {
  const { weights } = step.inputs
  if (!weights) throw new Error('[combine] has a gradient only with weights')
  const { dz, dweights } = g.combine_grad(
    { dy: grad('y'), places: input('places'), z: input('z'), weights },
    {},
  )
  return { parts: { z: dz, weights: dweights, addend: isWanted('addend') ? grad('y') : undefined } }
}

export const balanceSums: Backward = ({ g, step, input, grad }) => ({
  parts: {
    logits: g.balance_sums_grad(
      { dsums: grad('sums'), logits: input('logits'), counted: step.inputs.counted },
      {},
    ).dlogits,
  },
})

/** The forward pass saved the gradient of the loss. */
export const balanceLoss: Backward = ({ g, output, lossGrad }) => {
  const loss = lossGrad('loss')
  const saved = output('dsums')
  return { parts: { sums: loss === ONE ? saved : g.scale({ x: saved, factor: loss }, {}).y } }
}
