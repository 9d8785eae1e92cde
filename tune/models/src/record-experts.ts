/**
 * The feed-forward part of a layer with experts. Sizes: T tokens, K experts of a token, P = T·K rows in order
 * of experts, E experts, C hidden, F feed-forward of one expert.
 */
import type { Tensor } from '@cairn-tune/program'
import type { ExpertRows } from './lora.ts'
import type { ExpertsConfig } from './forward.ts'
import type { LayerParts } from './layer-parts.ts'

/** Records the output of the experts for normed rows, added to `addend`. */
export function recordExperts(layer: LayerParts, config: ExpertsConfig, x: Tensor, addend?: Tensor): Tensor {
  const { g, dtype, weights, part } = layer
  const { hidden_size: C } = layer.config
  const { count, top_k, is_biased } = config
  const router = part(config.router)
  const logits = g.matmul_nt(
    {
      a: x,
      b: weights(`${router}.weight`, [count, C]),
      bias: is_biased ? weights(`${router}.bias`, [count]) : undefined,
    },
    { alpha: 1, arithmetic: dtype, dtype: 'f32' },
  ).y // (T, E)
  const { weights: shares, ids } = g.route(
    { logits },
    { top_k, softmax_over_all: config.softmax_over_all ? 1 : 0 },
  )
  const { balance } = layer
  balance?.sums.push(g.balance_sums({ logits, ids, counted: balance.counted }, {}).sums)
  const { ends, tokens, places } = g.expert_order({ ids }, { experts: count })
  const rows = g.expert_rows({ x, tokens, places }, {}).y // (P, C)
  const z = recordExpertRows(layer, config, rows, { ends, tokens }) // (P, C)
  const y = g.combine({ z, places, weights: shares, addend }, { dtype }).y
  return config.shared_intermediate_size > 0
    ? recordSharedExpert(layer, config.shared_intermediate_size, x, y)
    : y
}

/** Records the output of the expert that every token uses, weighted by its own router and added to `addend`. */
function recordSharedExpert(layer: LayerParts, F: number, x: Tensor, addend: Tensor): Tensor {
  const { g, dtype, weights, part, linear } = layer
  const { hidden_size: C } = layer.config
  const logits = g.matmul_nt(
    { a: x, b: weights(part('mlp.shared_expert_gate.weight'), [1, C]) },
    { alpha: 1, arithmetic: dtype, dtype: 'f32' },
  ).y // (T, 1)
  const { weights: shares, ids } = g.route({ logits }, { top_k: 1, sigmoid: 1 })
  // With one expert, row t is that of token t.
  const { places } = g.expert_order({ ids }, { experts: 1 })
  const project = (name: string) => linear(`mlp.shared_expert.${name}`, x, F)
  const h = g.swiglu({ gate: project('gate_proj'), up: project('up_proj') }, {}).y // (T, F)
  const z = linear('mlp.shared_expert.down_proj', h, C) // (T, C)
  return g.combine({ z, places, weights: shares, addend }, { dtype }).y
}

/** Records the output of each expert for its rows. */
function recordExpertRows(
  { g, config, linear, weights, part }: LayerParts,
  { count, expert_intermediate_size: F, clamp, is_biased, names }: ExpertsConfig,
  rows: Tensor,
  experts: ExpertRows,
): Tensor {
  const project = (name: string, x: Tensor, n: number) => {
    const path = `${names.module}.experts.${name}`
    const bias = is_biased ? weights(part(`${path}_bias`), [count, n]) : undefined
    return linear(path, x, n, { experts, bias })
  }
  const h = clamp
    ? g.clamped_glu({ x: project('gate_up_proj', rows, 2 * F) }, clamp).y
    : g.swiglu({ gate: project(names.gate, rows, F), up: project(names.up, rows, F) }, {}).y // (P, F)
  return project(names.down, h, config.hidden_size)
}
