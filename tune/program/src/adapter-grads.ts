/** Gradients of the ops that adapters need besides products. */
import { number, type Backward } from './gradient-context.ts'

/** Draws the same random numbers again, so that dropped elements get no gradient. */
export const dropout: Backward = ({ g, step, input, grad }) => ({
  parts: {
    x: g.dropout(
      { x: grad('y'), random: input('random') },
      { rate: number(step, 'rate'), stream: number(step, 'stream') },
    ).y,
  },
})

/** The norms count as constants of the step, as in section 4.3 of the DoRA paper and in PEFT. */
export const scaleColumns: Backward = ({ g, input, grad, isWanted }) => {
  const [dy, x, norms] = [grad('y'), input('x'), input('norms')]
  return {
    parts: {
      x: isWanted('x') ? g.scale_columns({ x: dy, weight: input('weight'), norms }, {}).y : undefined,
      weight: isWanted('weight') ? g.scale_columns_weight_grad({ dy, x, norms }, {}).dweight : undefined,
      bias: isWanted('bias') ? g.bias_grad({ dy }, {}).dbias : undefined,
      addend: isWanted('addend') ? dy : undefined,
    },
  }
}
