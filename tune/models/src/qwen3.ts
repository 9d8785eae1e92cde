/**
 * Qwen3, dense: the model as its paper has it, recorded as ops. Sizes: T tokens, C hidden, H query heads, G
 * key heads, D head, F feed-forward, V vocabulary.
 *
 * The batch is packed: documents lie one after another in T rows, `cuSeqlens` has their bounds, and positions
 * count from each one's start.
 */
import type { Arithmetic } from '@cairn-tune/ops'
import type { Recorder, Tensor } from '@cairn-tune/program'
import type { Linear, Weights } from './lora.ts'

/** Keys of a Hugging Face config.json, by their own names. */
export type Qwen3Config = {
  hidden_size: number
  num_hidden_layers: number
  num_attention_heads: number
  num_key_value_heads: number
  head_dim: number
  intermediate_size: number
  vocab_size: number
  rms_norm_eps: number
  rope_theta: number
  tie_word_embeddings: boolean
}

export type Batch = {
  ids: Tensor // (T)
  positions: Tensor // (T)
  cuSeqlens: Tensor // (documents + 1)
  targets: Tensor // (T), −100 where nothing is learned
  cosSin: Tensor // (positions, D)
}

export type Qwen3 = {
  g: Recorder
  config: Qwen3Config
  /** Format of activations and of what matmuls multiply; sums are f32. */
  dtype: Arithmetic
  weights: Weights
  linear: Linear
  /** Whether embeddings and head are trained, which costs a gradient of their size. */
  trainsHead: boolean
}

/** Rows of logits that exist at a time in the loss. */
const lossChunk = 512

/** What a layer's turned queries and keys and its values become: (T, H·D), (T, G·D), (T, G·D) → (T, H·D). */
export type Attend = (layer: number, q: Tensor, k: Tensor, v: Tensor) => Tensor

/** Records the forward pass; the loss is the sum over the tokens that have a target. */
export function recordQwen3(model: Qwen3, batch: Batch): { loss: Tensor; losses: Tensor; hidden: Tensor } {
  const { g, config, dtype } = model
  const { num_attention_heads: heads, num_key_value_heads: kv_heads, head_dim: D } = config
  const hidden = recordQwen3Hidden(
    model,
    batch,
    (_, q, k, v) =>
      g.attention({ q, k, v, cu_seqlens: batch.cuSeqlens }, { heads, kv_heads, scale: D ** -0.5 }).y,
  )
  const head = qwen3Head(model)
  const loss = model.trainsHead ? g.head_loss_trained : g.head_loss
  return {
    ...loss({ x: hidden, weight: head, targets: batch.targets }, { arithmetic: dtype, chunk: lossChunk }),
    hidden,
  }
}

/** The matrix that makes logits of hidden states, (V, C). */
export function qwen3Head({ config, weights }: Pick<Qwen3, 'config' | 'weights'>): Tensor {
  return weights(config.tie_word_embeddings ? 'model.embed_tokens.weight' : 'lm_head.weight', [
    config.vocab_size,
    config.hidden_size,
  ])
}

/** Records the model up to its last norm, (T, C); how rows see one another is the caller's. */
export function recordQwen3Hidden(
  model: Omit<Qwen3, 'trainsHead'>,
  rows: Pick<Batch, 'ids' | 'positions' | 'cosSin'>,
  attend: Attend,
): Tensor {
  const { g, config, dtype, weights } = model
  const { hidden_size: C, vocab_size: V, rms_norm_eps: eps } = config
  let x = g.embed({ table: weights('model.embed_tokens.weight', [V, C]), ids: rows.ids }, { dtype }).y // (T, C)
  for (let l = 0; l < config.num_hidden_layers; l++) {
    const input = x
    x = g.block(`layer ${l}`, () => recordLayer(model, l, input, rows, attend))
  }
  return g.rms_norm({ x, weight: weights('model.norm.weight', [C]) }, { eps }).y
}

function recordLayer(
  { g, config, weights, linear }: Omit<Qwen3, 'trainsHead'>,
  l: number,
  x: Tensor,
  { positions, cosSin }: Pick<Batch, 'positions' | 'cosSin'>,
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
  const turned = (name: string, t: Tensor, heads: number) =>
    g.qk_norm_rope(
      { x: t, weight: weights(`${layer}.self_attn.${name}.weight`, [D]), positions, cos_sin: cosSin },
      { heads, eps },
    ).y

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
