/**
 * The one recorder of all families: a forward pass as ops, by what the model's row of the families table made
 * of its config.json. Sizes: T tokens, C hidden, H query heads, G key heads, D head, F feed-forward, V
 * vocabulary.
 *
 * The batch is packed: documents lie one after another in T rows, `cuSeqlens` has their bounds, and positions
 * count from each one's start.
 */
import type { Arithmetic } from '@cairn-tune/ops'
import type { Recorder, Tensor } from '@cairn-tune/program'
import type { Linear, Weights } from './lora.ts'
import type { ModelConfig } from './model-config.ts'

/** What every row of a forward pass comes with. */
export type Rows = {
  ids: Tensor // (T)
  positions: Tensor // (T)
  /** Tables of the model's ropes, in their order: (positions, width of the rope). */
  ropes: readonly Tensor[]
}

export type Batch = Rows & {
  cuSeqlens: Tensor // (documents + 1)
  targets: Tensor // (T), −100 where nothing is learned
}

export type Model = {
  g: Recorder
  config: ModelConfig
  /** Format of activations and of what matmuls multiply; sums are f32. */
  dtype: Arithmetic
  weights: Weights
  linear: Linear
}

/** Rows of logits that exist at a time in the loss. */
const lossChunk = 512

/** What a layer's turned queries and keys and its values become: (T, H·D), (T, G·D), (T, G·D) → (T, H·D). */
export type Attend = (layer: number, q: Tensor, k: Tensor, v: Tensor) => Tensor

/** Attributes that attention has in every layer. */
export const attentionAttrs = (config: ModelConfig) => ({
  heads: config.num_attention_heads,
  kv_heads: config.num_key_value_heads,
  scale: config.attention_scale,
})

/**
 * Records the forward pass; the loss is the sum over the tokens that have a target. `trainsHead`: whether
 * embeddings and head are trained, which costs a gradient of their size.
 */
export function recordModel(
  model: Model & { trainsHead: boolean },
  batch: Batch,
): { loss: Tensor; losses: Tensor; hidden: Tensor } {
  const { g, config, dtype } = model
  const hidden = recordHidden(
    model,
    batch,
    (_, q, k, v) => g.attention({ q, k, v, cu_seqlens: batch.cuSeqlens }, attentionAttrs(config)).y,
  )
  const head = headOf(model)
  const loss = model.trainsHead ? g.head_loss_trained : g.head_loss
  return {
    ...loss({ x: hidden, weight: head, targets: batch.targets }, { arithmetic: dtype, chunk: lossChunk }),
    hidden,
  }
}

const EMBEDDINGS = 'model.embed_tokens.weight'

/** Name of the matrix that makes logits of hidden states. */
export const headName = ({ tie_word_embeddings: isTied }: ModelConfig) =>
  isTied ? EMBEDDINGS : 'lm_head.weight'

/** The matrix that makes logits of hidden states, (V, C). */
export const headOf = ({ config, weights }: Pick<Model, 'config' | 'weights'>): Tensor =>
  weights(headName(config), [config.vocab_size, config.hidden_size])

/** Records the model up to its last norm, (T, C); how rows see one another is the caller's. */
export function recordHidden(model: Model, rows: Rows, attend: Attend): Tensor {
  const { g, config, dtype, weights } = model
  const { hidden_size: C, vocab_size: V, rms_norm_eps: eps } = config
  let x = g.embed({ table: weights(EMBEDDINGS, [V, C]), ids: rows.ids }, { dtype }).y // (T, C)
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const input = x
    x = g.block(`layer ${l}`, () => recordLayer(model, l, input, rows, attend))
  }
  return g.rms_norm({ x, weight: weights('model.norm.weight', [C]) }, { eps }).y
}

function recordLayer(
  { g, config, weights, linear }: Model,
  l: number,
  x: Tensor,
  { positions, ropes }: Rows,
  attend: Attend,
): Tensor {
  const layer = `model.layers.${l}`
  const {
    hidden_size: C,
    num_attention_heads: H,
    num_key_value_heads: G,
    head_dim: D,
    intermediate_size: F,
    rms_norm_eps: eps,
  } = config
  const norm = (name: string, t: Tensor) =>
    g.rms_norm({ x: t, weight: weights(`${layer}.${name}.weight`, [C]) }, { eps }).y
  const cosSin = ropes[config.layers[l]?.rope ?? -1]
  const turned = (name: string, t: Tensor, heads: number) => {
    if (!cosSin) return t
    const weight = config.qk_norm ? weights(`${layer}.self_attn.${name}.weight`, [D]) : undefined
    return g.qk_norm_rope({ x: t, weight, positions, cos_sin: cosSin }, { heads, eps }).y
  }

  const n1 = norm('input_layernorm', x) // (T, C)
  const q = turned('q_norm', linear(`${layer}.self_attn.q_proj`, n1, H * D), H) // (T, H·D)
  const k = turned('k_norm', linear(`${layer}.self_attn.k_proj`, n1, G * D), G) // (T, G·D)
  const v = linear(`${layer}.self_attn.v_proj`, n1, G * D)
  const a = attend(l, q, k, v)
  const r = linear(`${layer}.self_attn.o_proj`, a, C, x) // x + o_proj(a)

  const n2 = norm('post_attention_layernorm', r)
  const h = g.swiglu(
    { gate: linear(`${layer}.mlp.gate_proj`, n2, F), up: linear(`${layer}.mlp.up_proj`, n2, F) },
    {},
  ).y // (T, F)
  return linear(`${layer}.mlp.down_proj`, h, C, r) // r + down_proj(h)
}
