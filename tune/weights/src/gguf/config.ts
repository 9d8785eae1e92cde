/** config.json and generation_config.json, derived from a GGUF file's metadata and tensors. */
import { InputError, UnsupportedError } from '../errors.ts'
import { ARCHITECTURE_NAMES, findArchitecture, type Architecture } from './architectures.ts'
import type { GgufFile, GgufTensor } from './gguf-file.ts'
import { ropeScalingOf } from './rope-scaling.ts'
import { shortest } from './shortest.ts'
import { readVocabulary } from './vocabulary.ts'

/** Supported keys, without the architecture prefix. */
const KEYS = [
  'block_count',
  'context_length',
  'embedding_length',
  'feed_forward_length',
  'vocab_size',
  'attention.head_count',
  'attention.head_count_kv',
  'attention.key_length',
  'attention.value_length',
  'attention.layer_norm_rms_epsilon',
  'rope.dimension_count',
  'rope.freq_base',
]

/** The row of a file's architecture. An unsupported key of it is rejected unless its value is neutral. */
export function architectureOf({ path, metadata }: GgufFile): Architecture {
  const kind = metadata.text('general.type') ?? 'model'
  if (kind !== 'model')
    throw new InputError(`${path}: general.type must be "model", got ${JSON.stringify(kind)}`)
  const name = metadata.needs('general.architecture', metadata.text('general.architecture'))
  const row = findArchitecture(name, (metadata.whole(`${name}.expert_count`) ?? 0) > 0)
  if (!row)
    throw new UnsupportedError(
      `${path}: general.architecture ${JSON.stringify(name)} is not supported; supported: ` +
        `${ARCHITECTURE_NAMES.join(', ')}`,
    )
  const known = [...KEYS, ...(row.own?.keys ?? [])]
  for (const key of metadata.keys()) {
    if (!key.startsWith(`${name}.`) || known.includes(key.slice(name.length + 1))) continue
    if (!metadata.isNeutral(key))
      throw new UnsupportedError(
        `${path}: ${key} is not supported for this architecture and could change the model's output`,
      )
  }
  return row
}

/**
 * Number of layers. Bounded by the number of tensors, because a damaged count must not create billions of
 * names.
 */
export function layersOf({ path, metadata, tensors }: GgufFile, row: Architecture): number {
  const key = `${row.name}.block_count`
  const layers = metadata.needs(key, metadata.whole(key))
  if (layers < 1 || layers > tensors.size)
    throw new InputError(
      `${path}: ${key} must be between 1 and the number of tensors, ${tensors.size}, got ${layers}`,
    )
  return layers
}

/** config.json: keys of every family, and other keys that have a value. */
export async function configOf(file: GgufFile): Promise<Record<string, unknown>> {
  const { path, metadata, tensors } = file
  const row = architectureOf(file)
  const key = (name: string) => `${row.name}.${name}`
  const whole = (name: string) => metadata.needs(key(name), metadata.whole(key(name)))
  const heads = whole('attention.head_count')
  const hidden = whole('embedding_length')
  const headDim = metadata.whole(key('attention.key_length')) ?? hidden / heads
  for (const name of ['attention.value_length', 'rope.dimension_count']) {
    const value = metadata.whole(key(name)) ?? headDim
    if (value !== headDim)
      throw new UnsupportedError(
        `${path}: ${key(name)} ${value} is not supported; it must equal the width of the heads, ${headDim}`,
      )
  }
  const embedding = needTensor(file, 'token_embd.weight')
  const { start, ends, padding } = readVocabulary(path, metadata)
  const theta = shortest(metadata.number(key('rope.freq_base')) ?? 10_000)
  const scaling = await ropeScalingOf(file, headDim, theta)
  const eps = key('attention.layer_norm_rms_epsilon')
  return {
    architectures: [row.className],
    model_type: row.modelType,
    vocab_size: embedding.shape[0] ?? 0,
    hidden_size: hidden,
    intermediate_size: whole('feed_forward_length'),
    num_hidden_layers: layersOf(file, row),
    num_attention_heads: heads,
    num_key_value_heads: metadata.whole(key('attention.head_count_kv')) ?? heads,
    head_dim: headDim,
    max_position_embeddings: whole('context_length'),
    rms_norm_eps: shortest(metadata.needs(eps, metadata.number(eps))),
    rope_theta: theta,
    ...(scaling ? { rope_scaling: scaling } : {}),
    tie_word_embeddings: !tensors.has('output.weight'),
    ...row.own?.read(file, key),
    torch_dtype: 'bfloat16',
    ...(start === undefined ? {} : { bos_token_id: start }),
    ...(ends.length === 0 ? {} : { eos_token_id: ends.length === 1 ? ends[0] : ends }),
    ...(padding === undefined ? {} : { pad_token_id: padding }),
  }
}

function needTensor({ path, tensors }: GgufFile, name: string): GgufTensor {
  const tensor = tensors.get(name)
  if (!tensor) throw new InputError(`${path}: has no tensor ${JSON.stringify(name)}`)
  return tensor
}
