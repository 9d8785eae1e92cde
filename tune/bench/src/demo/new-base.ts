/**
 * The demonstration's base before its training: a Qwen3 of the plan's size, with a tokenizer of its own and
 * no chat template.
 */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createRandom, qwen3Weights } from '@cairn-tune/train'
import {
  encodeFloats,
  qwen3ConfigJson,
  writeCheckpoint,
  type Qwen3Config,
  type TensorToWrite,
} from '@cairn-tune/weights'
import type { BasePlan } from './plan.ts'
import { END_OF_TEXT } from './train-tokenizer.ts'

/** Larger than that of the published models: a narrow one learns the sooner for it. */
const SPREAD = 0.04

export function configOf({
  vocabulary,
  hidden,
  ffn,
  layers,
  heads,
  kvHeads,
  headDim,
}: BasePlan): Qwen3Config {
  return {
    model_type: 'qwen3',
    vocab_size: vocabulary,
    hidden_size: hidden,
    intermediate_size: ffn,
    num_hidden_layers: layers,
    num_attention_heads: heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    tie_word_embeddings: true,
    rms_norm_eps: 1e-6,
    rope_theta: 10_000,
    max_position_embeddings: 2048,
    initializer_range: SPREAD,
    bos_token_id: undefined,
    eos_token_ids: [END_OF_TEXT],
    pad_token_id: END_OF_TEXT,
    quantization: undefined,
  }
}

export const countParameters = (plan: BasePlan) =>
  qwen3Weights(configOf(plan)).reduce(
    (sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1),
    0,
  )

/** Writes the model; the same plan gives the same bytes. */
export async function writeNewBase(
  directory: string,
  plan: BasePlan,
  tokenizer: Record<string, string>,
): Promise<void> {
  const config = configOf(plan)
  await mkdir(directory, { recursive: true })
  const tensors = qwen3Weights(config).map(({ name, shape }): TensorToWrite => ({
    name,
    dtype: 'BF16',
    shape,
    bytes: () => encodeFloats('BF16', initial(name, shape, plan)),
  }))
  await writeCheckpoint(directory, tensors)
  for (const [name, text] of Object.entries({
    ...tokenizer,
    'config.json': `${JSON.stringify(qwen3ConfigJson(config), null, 2)}\n`,
  }))
    await writeFile(join(directory, name), text)
}

/** Norms of 1, the rest normal; what writes to the residual stream is smaller the more layers do. */
function initial(name: string, shape: readonly number[], { seed, layers }: BasePlan): Float32Array {
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1))
  if (shape.length === 1) return values.fill(1)
  const spread = /\.(?:o_proj|down_proj)\./.test(name) ? SPREAD / Math.sqrt(2 * layers) : SPREAD
  const { next } = createRandom(seed, ...new TextEncoder().encode(name))
  // Box and Muller: two normal numbers of two uniform ones, the first in (0, 1].
  for (let i = 0; i < values.length; i += 2) {
    const [radius, angle] = [spread * Math.sqrt(-2 * Math.log(1 - next())), 2 * Math.PI * next()]
    values[i] = radius * Math.cos(angle)
    values[i + 1] = radius * Math.sin(angle)
  }
  return values
}
