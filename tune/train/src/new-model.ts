/**
 * Models from nothing: a directory like any other, with random weights, for tests, memory planning, speed
 * runs and training from scratch.
 */
import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  InputError,
  encodeFloats,
  makeDirectory,
  qwen3ConfigJson,
  writeCheckpoint,
  type Qwen3Config,
  type TensorToWrite,
} from '@cairn-tune/weights'
import { BYTE_VOCABULARY, END_OF_TEXT, END_OF_TURN, byteTokenizerFiles } from './byte-tokenizer.ts'
import { createRandom } from './random.ts'

type Size = Pick<
  Qwen3Config,
  | 'vocab_size'
  | 'hidden_size'
  | 'intermediate_size'
  | 'num_hidden_layers'
  | 'num_attention_heads'
  | 'num_key_value_heads'
  | 'head_dim'
  | 'tie_word_embeddings'
>

const size = (
  vocab: number,
  hidden: number,
  ffn: number,
  layers: number,
  heads: number,
  kvHeads: number,
  headDim: number,
  isTied: boolean,
): Size => ({
  vocab_size: vocab,
  hidden_size: hidden,
  intermediate_size: ffn,
  num_hidden_layers: layers,
  num_attention_heads: heads,
  num_key_value_heads: kvHeads,
  head_dim: headDim,
  tie_word_embeddings: isTied,
})

const QWEN3_VOCABULARY = 151936

/** Shapes by name; the larger ones are those of the published models. */
export const SHAPES = {
  tiny: size(320, 64, 192, 2, 4, 2, 32, true),
  small: size(320, 256, 768, 4, 8, 4, 64, true),
  'qwen3-0.6b': size(QWEN3_VOCABULARY, 1024, 3072, 28, 16, 8, 128, true),
  'qwen3-1.7b': size(QWEN3_VOCABULARY, 2048, 6144, 28, 16, 8, 128, true),
  'qwen3-4b': size(QWEN3_VOCABULARY, 2560, 9728, 36, 32, 8, 128, true),
  'qwen3-8b': size(QWEN3_VOCABULARY, 4096, 12288, 36, 32, 8, 128, false),
} as const satisfies Record<string, Size>

export type ShapeName = keyof typeof SHAPES

/** The configuration of a shape. The byte tokenizer is within every vocabulary. */
export function configOfShape(shape: ShapeName): Qwen3Config {
  return {
    model_type: 'qwen3',
    ...SHAPES[shape],
    rms_norm_eps: 1e-6,
    rope_theta: 1e6,
    max_position_embeddings: 40960,
    initializer_range: 0.02,
    bos_token_id: undefined,
    eos_token_ids: [END_OF_TURN],
    pad_token_id: END_OF_TEXT,
    quantization: undefined,
  }
}

/** Names and shapes of a Qwen3's weights, in the order of the forward pass. */
export function qwen3Weights(config: Qwen3Config): { name: string; shape: number[] }[] {
  const {
    vocab_size: V,
    hidden_size: C,
    intermediate_size: F,
    num_hidden_layers: L,
    num_attention_heads: H,
    num_key_value_heads: G,
    head_dim: D,
  } = config
  const layer: Record<string, number[]> = {
    input_layernorm: [C],
    'self_attn.q_proj': [H * D, C],
    'self_attn.k_proj': [G * D, C],
    'self_attn.v_proj': [G * D, C],
    'self_attn.o_proj': [C, H * D],
    'self_attn.q_norm': [D],
    'self_attn.k_norm': [D],
    post_attention_layernorm: [C],
    'mlp.gate_proj': [F, C],
    'mlp.up_proj': [F, C],
    'mlp.down_proj': [C, F],
  }
  return [
    { name: 'model.embed_tokens.weight', shape: [V, C] },
    ...Array.from({ length: L }, (_, l) =>
      Object.entries(layer).map(([name, shape]) => ({ name: `model.layers.${l}.${name}.weight`, shape })),
    ).flat(),
    { name: 'model.norm.weight', shape: [C] },
    ...(config.tie_word_embeddings ? [] : [{ name: 'lm_head.weight', shape: [V, C] }]),
  ]
}

/**
 * Writes a model of a shape to a new directory: norms of 1, everything else normal with the configuration's
 * spread, by seed and name.
 */
export async function writeNewModel(directory: string, shape: ShapeName, seed: number): Promise<void> {
  const config = configOfShape(shape)
  if (config.vocab_size < BYTE_VOCABULARY)
    throw new Error(
      `[writeNewModel] ${shape} has ${config.vocab_size} tokens, the byte tokenizer ${BYTE_VOCABULARY}`,
    )
  await makeDirectory(directory, 'new model')
  if ((await readdir(directory)).length > 0)
    throw new InputError(`${directory}: is not empty; a new model is written to a new directory`)
  const tensors = qwen3Weights(config).map(({ name, shape: sizes }): TensorToWrite => ({
    name,
    dtype: 'BF16',
    shape: sizes,
    bytes: () => encodeFloats('BF16', initial(name, sizes, seed, config.initializer_range)),
  }))
  await writeCheckpoint(directory, tensors)
  for (const [name, text] of Object.entries({
    ...byteTokenizerFiles(),
    'config.json': `${JSON.stringify(qwen3ConfigJson(config), null, 2)}\n`,
  }))
    await writeFile(join(directory, name), text)
}

function initial(name: string, shape: readonly number[], seed: number, spread: number): Float32Array {
  const values = new Float32Array(shape.reduce((product, length) => product * length, 1))
  if (shape.length === 1) return values.fill(1)
  const { next } = createRandom(seed, ...new TextEncoder().encode(name))
  // Box and Muller: two normal numbers of two uniform ones, the first in (0, 1].
  for (let i = 0; i < values.length; i += 2) {
    const radius = spread * Math.sqrt(-2 * Math.log(1 - next()))
    const angle = 2 * Math.PI * next()
    values[i] = radius * Math.cos(angle)
    values[i + 1] = radius * Math.sin(angle)
  }
  return values
}
