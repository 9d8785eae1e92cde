/**
 * The feed-forward part of a layer with experts. Sizes: T tokens, K experts of a token, P = T·K rows in order
 * of experts, E experts, C hidden, F feed-forward of one expert.
 */
import type { Tensor } from '@cairn-tune/program'
import type { ExpertsConfig } from './model-config.ts'
import type { LayerParts } from './record-model.ts'

/** What the experts make of normed rows, added to `addend`. */
export function recordExperts(layer: LayerParts, config: ExpertsConfig, x: Tensor, addend?: Tensor): Tensor {
  const { g, dtype, weights, linear, part } = layer
  const { hidden_size: C } = layer.config
  const { count, top, size: F } = config
  const router = weights(`${part('mlp.gate')}.weight`, [count, C])
  const logits = g.matmul_nt({ a: x, b: router }, { alpha: 1, arithmetic: dtype, dtype: 'f32' }).y // (T, E)
  const { weights: shares, ids } = g.route({ logits }, { top, over_all: config.over_all ? 1 : 0 })
  const { ends, tokens, places } = g.expert_order({ ids }, { experts: count })
  const experts = { ends, tokens }
  const rows = g.expert_rows({ x, tokens, places }, {}).y // (P, C)
  const gate = linear('mlp.experts.gate_proj', rows, F, { experts })
  const up = linear('mlp.experts.up_proj', rows, F, { experts })
  const z = linear('mlp.experts.down_proj', g.swiglu({ gate, up }, {}).y, C, { experts }) // (P, C)
  return g.combine({ z, places, weights: shares, addend }, { dtype }).y
}
