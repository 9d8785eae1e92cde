/**
 * The demonstration's base before its training: a Qwen3 of the plan's size, with a tokenizer of its own and
 * no chat template.
 */
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { configJsonText, parseModelConfig, partsOf } from '@cairn-tune/models'
import { createRandom } from '@cairn-tune/train'
import { encodeFloats, makeDirectory, writeCheckpoint, type TensorToWrite } from '@cairn-tune/weights'
import type { BasePlan } from './plan.ts'
import { END_OF_TEXT } from './train-tokenizer.ts'

/** Larger than in the published models: with a narrow model this speeds up training. */
const SPREAD = 0.04

const configJsonOf = ({ vocabulary, hidden, ffn, layers, heads, kvHeads, headDim }: BasePlan) => ({
  model_type: 'qwen3' as const,
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
  eos_token_id: END_OF_TEXT,
  pad_token_id: END_OF_TEXT,
})

const weightsOf = (plan: BasePlan) =>
  partsOf(parseModelConfig('the base of the demo', configJsonOf(plan))).weights

export const countParameters = (plan: BasePlan) =>
  weightsOf(plan).reduce((sum, { shape }) => sum + shape.reduce((product, size) => product * size, 1), 0)

/** Writes the model. The same plan gives the same bytes. */
export async function writeNewBase(
  directory: string,
  plan: BasePlan,
  tokenizer: Record<string, string>,
): Promise<void> {
  await makeDirectory(directory, 'output_dir')
  const tensors = weightsOf(plan).map(({ name, shape }): TensorToWrite => ({
    name,
    dtype: 'BF16',
    shape,
    bytes: () => encodeFloats('BF16', initial(name, shape, plan)),
  }))
  await writeCheckpoint(directory, tensors)
  for (const [name, text] of Object.entries({
    ...tokenizer,
    'config.json': configJsonText(configJsonOf(plan)),
  }))
    await writeFile(join(directory, name), text)
}

/**
 * Norms are 1, the rest is normally distributed. Matrices that write to the residual stream are scaled down
 * with the number of layers.
 */
function initial(name: string, shape: readonly number[], { seed, layers }: BasePlan): Float32Array {
  const values = new Float32Array(shape.reduce((product, size) => product * size, 1))
  if (shape.length === 1) return values.fill(1)
  const spread = /\.(?:o_proj|down_proj)\./.test(name) ? SPREAD / Math.sqrt(2 * layers) : SPREAD
  const { next } = createRandom(seed, ...new TextEncoder().encode(name))
  // Box-Muller: two normal numbers from two uniform ones, the first in (0, 1].
  for (let i = 0; i < values.length; i += 2) {
    const [radius, angle] = [spread * Math.sqrt(-2 * Math.log(1 - next())), 2 * Math.PI * next()]
    values[i] = radius * Math.cos(angle)
    values[i + 1] = radius * Math.sin(angle)
  }
  return values
}
