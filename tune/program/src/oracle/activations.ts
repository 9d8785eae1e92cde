/** Gated activations and their gradients, in float64. */
import type { Attrs } from '@cairn-tune/ops'
import { at, fill, get, number, type Define, type Inputs } from './matrix.ts'

const sigmoid = (x: number) => 1 / (1 + Math.exp(-x))

/** A function and its derivative. */
type Activation = { value: (g: number) => number; slope: (g: number) => number }

const silu: Activation = {
  value: g => g * sigmoid(g),
  slope: g => sigmoid(g) * (1 + g * (1 - sigmoid(g))),
}

const bend = (g: number) => Math.tanh(Math.sqrt(2 / Math.PI) * (g + 0.044715 * g ** 3))
const gelu: Activation = {
  value: g => (g * (1 + bend(g))) / 2,
  slope: g =>
    (1 + bend(g)) / 2 + ((g * (1 - bend(g) ** 2)) / 2) * Math.sqrt(2 / Math.PI) * (1 + 3 * 0.044715 * g ** 2),
}

const glu =
  ({ value }: Activation): Define =>
  inputs => ({
    y: get(inputs, 'gate').values.map((g, i) => value(g) * at(get(inputs, 'up').values, i)),
  })

const gluGrad =
  ({ value, slope }: Activation): Define =>
  inputs => {
    const [dy, gate, up] = [get(inputs, 'dy').values, get(inputs, 'gate').values, get(inputs, 'up').values]
    return {
      dgate: gate.map((g, i) => at(dy, i) * at(up, i) * slope(g)),
      dup: gate.map((g, i) => at(dy, i) * value(g)),
    }
  }

export const swiglu = glu(silu)
export const swigluGrad = gluGrad(silu)
export const geglu = glu(gelu)
export const gegluGrad = gluGrad(gelu)

/** A pair of clamped_glu: clamped gate and up, and whether each was within its limits. */
function clampedPair(inputs: Inputs, attrs: Attrs, i: number) {
  const [limit, x] = [number(attrs, 'limit'), get(inputs, 'x').values]
  const [gate, up] = [at(x, 2 * i), at(x, 2 * i + 1)]
  return {
    g: Math.min(gate, limit),
    u: Math.min(Math.max(up, -limit), limit),
    passes: [gate <= limit, Math.abs(up) <= limit] as const,
  }
}

export const clampedGlu: Define = (inputs, attrs) => ({
  y: fill(get(inputs, 'x').values.length / 2, i => {
    const { g, u } = clampedPair(inputs, attrs, i)
    return (1 + u) * g * sigmoid(number(attrs, 'alpha') * g)
  }),
})

export const clampedGluGrad: Define = (inputs, attrs) => ({
  dx: fill(get(inputs, 'x').values.length, i => {
    const { g, u, passes } = clampedPair(inputs, attrs, Math.floor(i / 2))
    const [dy, alpha] = [at(get(inputs, 'dy').values, Math.floor(i / 2)), number(attrs, 'alpha')]
    const s = sigmoid(alpha * g)
    if (i % 2 === 1) return passes[1] ? dy * g * s : 0
    return passes[0] ? dy * (1 + u) * s * (1 + alpha * g * (1 - s)) : 0
  }),
})
