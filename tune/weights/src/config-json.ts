/** config.json of a model directory: the architecture's shape, read as transformers reads it. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { InputError, UnsupportedError } from './errors.ts'
import { isMissing } from './fs-errors.ts'
import { detectQuantization } from './quantization-config.ts'
import type { QuantizedLayout } from './quantized.ts'

/** A dense Qwen3: what its forward pass needs to know, by the names that config.json has. */
export type Qwen3Config = {
  model_type: 'qwen3'
  vocab_size: number
  hidden_size: number
  intermediate_size: number
  num_hidden_layers: number
  num_attention_heads: number
  num_key_value_heads: number
  head_dim: number
  rms_norm_eps: number
  rope_theta: number
  max_position_embeddings: number
  tie_word_embeddings: boolean
  initializer_range: number
  bos_token_id: number | undefined
  /** A file may name one or several; the first is the one that ends a turn. */
  eos_token_ids: number[]
  pad_token_id: number | undefined
  /** How the base's frozen projections are stored, where the checkpoint says so. */
  quantization: QuantizedLayout | undefined
}

export type ModelConfig = Qwen3Config

const size = z.int().positive()
const token = z.int().nonnegative()
const rope = z.looseObject({
  rope_type: z.string().optional(),
  type: z.string().optional(),
  rope_theta: z.number().positive().optional(),
})

/** Defaults are those of transformers' Qwen3Config: a file leaves out what equals them. */
const qwen3 = z.looseObject({
  vocab_size: size.default(151936),
  hidden_size: size.default(4096),
  intermediate_size: size.default(22016),
  num_hidden_layers: size.default(32),
  num_attention_heads: size.default(32),
  num_key_value_heads: size.nullish(),
  head_dim: size.nullish(),
  hidden_act: z.string().default('silu'),
  max_position_embeddings: size.default(32768),
  initializer_range: z.number().positive().default(0.02),
  rms_norm_eps: z.number().positive().default(1e-6),
  tie_word_embeddings: z.boolean().default(false),
  rope_theta: z.number().positive().optional(),
  rope_scaling: rope.nullish(),
  rope_parameters: rope.nullish(),
  attention_bias: z.boolean().default(false),
  attention_dropout: z.number().default(0),
  use_sliding_window: z.boolean().default(false),
  layer_types: z.array(z.string()).nullish(),
  bos_token_id: token.nullish(),
  eos_token_id: z.union([token, z.array(token)]).nullish(),
  pad_token_id: token.nullish(),
})

/** transformers' default where the file names none. */
const DEFAULT_KV_HEADS = 32
const DEFAULT_HEAD_DIM = 128
const DEFAULT_ROPE_THETA = 10_000

const readers: Record<string, (path: string, json: unknown) => ModelConfig> = { qwen3: readQwen3 }
export const SUPPORTED_MODEL_TYPES = Object.keys(readers)

/** Reads and checks config.json (and ModelOpt's hf_quant_config.json) of a model directory. */
export async function readModelConfig(directory: string): Promise<ModelConfig> {
  const path = join(directory, 'config.json')
  const config = await readJson(path)
  if (config === undefined)
    throw new InputError(
      `${path}: no such file; a model directory has config.json, *.safetensors and tokenizer.json`,
    )
  const json = z.record(z.string(), z.unknown()).safeParse(config)
  if (!json.success) throw new InputError(`${path}: must be a JSON object`)
  const separate =
    json.data['quantization_config'] === undefined
      ? await readJson(join(directory, 'hf_quant_config.json'))
      : undefined
  return parseModelConfig(
    path,
    separate === undefined ? json.data : { ...json.data, quantization_config: separate },
  )
}

/** The pure part of readModelConfig. */
export function parseModelConfig(path: string, json: Record<string, unknown>): ModelConfig {
  const type = json['model_type']
  const read = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type] : undefined
  if (!read)
    throw new UnsupportedError(
      `${path}: model_type ${JSON.stringify(type)} is not supported; supported: ${SUPPORTED_MODEL_TYPES.join(', ')}`,
    )
  return { ...read(path, json), quantization: detectQuantization(path, json['quantization_config']) }
}

async function readJson(path: string): Promise<unknown> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    if (isMissing(error)) return undefined
    throw error
  }
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new InputError(`${path}: not JSON`, { cause })
  }
}

function readQwen3(path: string, json: unknown): Qwen3Config {
  const parsed = qwen3.safeParse(json)
  if (!parsed.success) throw new InputError(`${path}: ${z.prettifyError(parsed.error)}`)
  const c = parsed.data
  const unsupported = (key: string, value: unknown, wanted: string): never => {
    throw new UnsupportedError(`${path}: ${key} ${JSON.stringify(value)} is not supported; ${wanted}`)
  }
  if (c.hidden_act !== 'silu') unsupported('hidden_act', c.hidden_act, 'only "silu" is')
  if (c.attention_dropout !== 0) unsupported('attention_dropout', c.attention_dropout, 'only 0 is')
  if (c.attention_bias) unsupported('attention_bias', true, 'no Qwen3 model has one')
  if (c.use_sliding_window) unsupported('use_sliding_window', true, 'every layer must see the whole document')
  const windowed = c.layer_types?.find(layer => layer !== 'full_attention')
  if (windowed !== undefined) unsupported('layer_types', windowed, 'only "full_attention" is')
  for (const key of ['rope_scaling', 'rope_parameters'] as const) {
    const kind = c[key]?.rope_type ?? c[key]?.type ?? 'default'
    if (kind !== 'default') unsupported(`${key}.rope_type`, kind, 'only "default" is')
  }
  const kvHeads =
    'num_key_value_heads' in c && c.num_key_value_heads === null
      ? c.num_attention_heads
      : (c.num_key_value_heads ?? DEFAULT_KV_HEADS)
  const headDim =
    c.head_dim === null ? c.hidden_size / c.num_attention_heads : (c.head_dim ?? DEFAULT_HEAD_DIM)
  const layerTypes = c.layer_types?.length ?? c.num_hidden_layers
  if (c.num_attention_heads % kvHeads !== 0)
    throw new InputError(
      `${path}: num_attention_heads ${c.num_attention_heads} must be a multiple of num_key_value_heads ${kvHeads}`,
    )
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw new InputError(`${path}: head_dim must be even, got ${headDim}`)
  if (layerTypes !== c.num_hidden_layers)
    throw new InputError(`${path}: layer_types has ${layerTypes} entries for ${c.num_hidden_layers} layers`)
  return {
    model_type: 'qwen3',
    vocab_size: c.vocab_size,
    hidden_size: c.hidden_size,
    intermediate_size: c.intermediate_size,
    num_hidden_layers: c.num_hidden_layers,
    num_attention_heads: c.num_attention_heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    rms_norm_eps: c.rms_norm_eps,
    rope_theta: c.rope_parameters?.rope_theta ?? c.rope_theta ?? DEFAULT_ROPE_THETA,
    max_position_embeddings: c.max_position_embeddings,
    tie_word_embeddings: c.tie_word_embeddings,
    initializer_range: c.initializer_range,
    bos_token_id: c.bos_token_id ?? undefined,
    eos_token_ids: [c.eos_token_id ?? []].flat(),
    pad_token_id: c.pad_token_id ?? undefined,
    quantization: undefined,
  }
}

/** config.json of a Qwen3, in the older layout that every version of transformers reads. */
export function qwen3ConfigJson(config: Qwen3Config): Record<string, unknown> {
  const { bos_token_id, eos_token_ids: ends, pad_token_id, quantization, ...shape } = config
  if (quantization !== undefined)
    throw new Error(`[qwen3ConfigJson] writes plain weights only, got ${quantization}`)
  return {
    architectures: ['Qwen3ForCausalLM'],
    ...shape,
    hidden_act: 'silu',
    rope_scaling: null,
    attention_bias: false,
    attention_dropout: 0,
    use_sliding_window: false,
    ...(bos_token_id === undefined ? {} : { bos_token_id }),
    ...(ends.length === 0 ? {} : { eos_token_id: ends.length === 1 ? ends[0] : ends }),
    ...(pad_token_id === undefined ? {} : { pad_token_id }),
    torch_dtype: 'bfloat16',
    use_cache: true,
  }
}
