/**
 * The recorder of all families: a forward pass as ops, from the configuration that the model's row of the
 * families table derived from config.json. Sizes: T tokens, C hidden, H query heads, G key heads, D head, F
 * feed-forward, V vocabulary.
 *
 * The batch is packed: documents are consecutive in T rows, `cuSeqlens` holds their bounds, and positions
 * count from the start of each document.
 */
import { decodeBf16, encodeBf16 } from '@cairn-tune/ops'
import type { Tensor } from '@cairn-tune/program'
import type { LayerParts, Model } from './layer-parts.ts'
import type { Linear } from './lora.ts'
import type { ModelConfig } from './model-config.ts'
import { recordExperts } from './record-experts.ts'

/** Inputs of every forward pass. T is the number of rows. */
export type RowInputs = {
  ids: Tensor // (T)
  positions: Tensor // (T)
  /** Tables of the model's ropes, in their order: (positions, width of the rope). */
  ropes: readonly Tensor[]
}

export type Batch = RowInputs & {
  cuSeqlens: Tensor // (documents + 1)
  targets: Tensor // (T), −100 without a target
}

/** A model with a head. `logitRows`: rows of logits that the head computes at a time. */
export type ModelWithHead = Model & { logitRows: number }

/** Attributes of the ops that read logits. */
const headAttrs = ({ dtype, config, logitRows }: ModelWithHead) => ({
  arithmetic: dtype,
  chunk: logitRows,
  scale: config.logits_scale,
  softcap: config.logits_softcap,
})

/**
 * Attention of a layer, from rotated queries and keys and values: (T, H·D), (T, G·D), (T, G·D) → (T, H·D).
 */
export type Attend = (layer: number, q: Tensor, k: Tensor, v: Tensor, sinks?: Tensor) => Tensor

/** Attention attributes of a layer. */
export const attentionAttrs = (config: ModelConfig, layer: number) => ({
  heads: config.num_attention_heads,
  kv_heads: config.num_key_value_heads,
  scale: config.attention_scale,
  softcap: config.attention_softcap,
  window: config.layers[layer]?.window ?? 0,
})

/**
 * Records the forward pass. The loss is the sum over the tokens that have a target. `trainsHead`: whether
 * embeddings and head are trained, which needs a gradient of their size.
 */
export function recordModel(
  model: ModelWithHead & { trainsHead: boolean },
  batch: Batch,
): { loss: Tensor; losses: Tensor; hidden: Tensor; balance: Tensor | undefined } {
  const { g } = model
  const hidden = recordPacked(model, batch)
  const head = headOf(model)
  const loss = model.trainsHead ? g.head_loss_trained : g.head_loss
  return {
    ...loss({ x: hidden, weight: head, targets: batch.targets }, headAttrs(model)),
    hidden,
    balance: recordBalance(model),
  }
}

/** The load-balancing loss over all layers with experts (arXiv:2101.03961, section 2.2). */
function recordBalance({ g, config, balance }: Model): Tensor | undefined {
  const [first, ...others] = balance?.sums ?? []
  if (!balance || !first) return undefined
  const sums = others.reduce((a, b) => g.add({ a, b }, {}).y, first)
  const attrs = { top_k: config.experts?.top_k ?? 0, coefficient: balance.coefficient }
  return g.balance_loss({ sums, scale: balance.scale }, attrs).loss
}

/** Records the forward pass up to the log-probability of each target, (T); 0 without a target. */
export const recordLogps = (model: ModelWithHead, batch: Batch): Tensor =>
  model.g.token_logps(
    { x: recordPacked(model, batch), weight: headOf(model), targets: batch.targets },
    headAttrs(model),
  ).logps

/** Records the model over packed documents up to its last norm. */
const recordPacked = (model: Model, batch: Batch): Tensor =>
  recordHidden(
    model,
    batch,
    (layer, q, k, v, sinks) =>
      model.g.attention({ q, k, v, cu_seqlens: batch.cuSeqlens, sinks }, attentionAttrs(model.config, layer))
        .y,
  )

const EMBEDDINGS = 'model.embed_tokens.weight'

/** Name of the matrix that computes logits from hidden states. */
export const headName = ({ tie_word_embeddings: isTied }: ModelConfig) =>
  isTied ? EMBEDDINGS : 'lm_head.weight'

/** Records the logits of hidden states, (T, V) in f32. */
export function recordLogits({ g, config, dtype, weights }: Omit<Model, 'linear'>, hidden: Tensor): Tensor {
  const { logits_scale: alpha, logits_softcap: cap } = config
  const head = headOf({ config, weights })
  const logits = g.matmul_nt({ a: hidden, b: head }, { alpha, arithmetic: dtype, dtype: 'f32' }).y
  return cap === 0 ? logits : g.softcap({ x: logits }, { cap }).y
}

/** The matrix that computes logits from hidden states, (V, C). */
export const headOf = ({ config, weights }: Pick<Model, 'config' | 'weights'>): Tensor =>
  weights(headName(config), [config.vocab_size, config.hidden_size])

/**
 * Factor of embeddings. With a residual multiplier m, rows between layers are recorded divided by m: then
 * nothing multiplies what a layer adds, and norms divide their epsilon by m². Norms are otherwise independent
 * of the scale of their rows, so the results are those of x + m·f(x).
 */
function embeddingScale({ dtype, config }: Model): number {
  const { embedding_scale: scale, embedding_multiplier: multiplier, residual_multiplier: m } = config
  const rounded = dtype === 'bf16' ? decodeBf16(encodeBf16(scale)) : scale
  return Math.fround(((scale === 0 ? 1 : rounded) * multiplier) / m)
}

/** Records the model up to its last norm, (T, C). The caller provides the attention between rows. */
export function recordHidden(model: Model, rows: RowInputs, attend: Attend): Tensor {
  const { g, config, dtype, weights } = model
  const { hidden_size: C, vocab_size: V } = config
  const scale = embeddingScale(model)
  let x = g.embed({ table: weights(EMBEDDINGS, [V, C]), ids: rows.ids }, { dtype, scale }).y // (T, C)
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const input = x
    x = g.block(`layer ${l}`, () => recordLayer(layerOf(model, l), input, rows, attend))
  }
  return normOf(model)('model.norm', x)
}

/** Records a norm over the rows of x. */
function normOf({ g, config, weights }: Model): (name: string, x: Tensor) => Tensor {
  const { hidden_size: C, rms_norm_eps, weight_offset, residual_multiplier } = config
  const eps = rms_norm_eps / residual_multiplier ** 2
  return (name, x) => g.rms_norm({ x, weight: weights(`${name}.weight`, [C]) }, { eps, weight_offset }).y
}

function layerOf(model: Model, l: number): LayerParts {
  const part = (name: string) => `model.layers.${l}.${name}`
  const norm = normOf(model)
  const linear: Linear = (name, x, n, added) => {
    const isBiased = model.config.biases.includes(name.split('.').at(-1) ?? '')
    const bias = isBiased ? model.weights(`${part(name)}.bias`, [n]) : added?.bias
    return model.linear(part(name), x, n, { ...added, bias })
  }
  return { ...model, l, part, linear, norm: (name, x) => norm(part(name), x) }
}

function recordLayer(layer: LayerParts, x: Tensor, rows: RowInputs, attend: Attend): Tensor {
  const { g, config, norm } = layer
  if (config.norms !== 'before') {
    const [afterAttention, beforeFeedForward, afterFeedForward] = config.norm_names
    const before = (name: string, t: Tensor) => (config.norms === 'around' ? norm(name, t) : t)
    const a = norm(afterAttention, recordAttention(layer, before('input_layernorm', x), rows, attend))
    const r = g.add({ a: x, b: a }, {}).y
    const f = norm(afterFeedForward, recordMlp(layer, before(beforeFeedForward, r)))
    return g.add({ a: r, b: f }, {}).y
  }
  const r = recordAttention(layer, norm('input_layernorm', x), rows, attend, x)
  return recordMlp(layer, norm('post_attention_layernorm', r), r)
}

/** Attention of normed rows, added to `addend` if given. */
function recordAttention(
  { g, config, weights, linear, l, part }: LayerParts,
  x: Tensor,
  { positions, ropes }: RowInputs,
  attend: Attend,
  addend?: Tensor,
): Tensor {
  const {
    hidden_size: C,
    num_attention_heads: H,
    num_key_value_heads: G,
    head_dim: D,
    rms_norm_eps: eps,
    weight_offset,
  } = config
  const cosSin = ropes[config.layers[l]?.rope ?? -1]
  const rotated = (name: string, projected: Tensor, heads: number) => {
    const normWeight = (width: number) => weights(`${part(`self_attn.${name}`)}.weight`, [width])
    const t =
      config.qk_norm === 'width'
        ? g.rms_norm({ x: projected, weight: normWeight(heads * D) }, { eps, weight_offset }).y
        : projected
    if (!cosSin) return t
    const weight = config.qk_norm === true ? normWeight(D) : undefined
    const interleaved = config.rotates_neighbours ? 1 : 0
    return g.qk_norm_rope(
      { x: t, weight, positions, cos_sin: cosSin },
      { heads, eps, weight_offset, interleaved },
    ).y
  }
  const fused = config.fused.includes('qkv') ? linear('self_attn.qkv_proj', x, (H + 2 * G) * D) : undefined
  /** Heads of a projection. In a fused matrix they are columns [from, from + heads·D). */
  const project = (name: string, heads: number, from: number) =>
    fused
      ? g.columns({ x: fused }, { from: from * D, count: heads * D }).y
      : linear(`self_attn.${name}`, x, heads * D)

  const q = rotated('q_norm', project('q_proj', H, 0), H) // (T, H·D)
  const k = rotated('k_norm', project('k_proj', G, H), G) // (T, G·D)
  const v = project('v_proj', G, H + G)
  const sinks = config.sinks ? weights(part('self_attn.sinks'), [H]) : undefined
  return linear('self_attn.o_proj', attend(l, q, k, v, sinks), C, { addend })
}

/** The feed-forward part of normed rows, added to `addend` if given. */
function recordMlp(layer: LayerParts, x: Tensor, addend?: Tensor): Tensor {
  const { g, config, linear, l } = layer
  if (config.experts && config.layers[l]?.has_experts) return recordExperts(layer, config.experts, x, addend)
  const { hidden_size: C, intermediate_size: F } = config
  const fused = config.fused.includes('gate_up') ? linear('mlp.gate_up_proj', x, 2 * F) : undefined
  const project = (name: string, from: number) =>
    fused ? g.columns({ x: fused }, { from, count: F }).y : linear(`mlp.${name}`, x, F)
  const h = g[config.activation]({ gate: project('gate_proj', 0), up: project('up_proj', F) }, {}).y // (T, F)
  return linear('mlp.down_proj', h, C, { addend })
}
