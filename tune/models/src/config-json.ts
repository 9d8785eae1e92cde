/** config.json of a model directory: the architecture's shape, read as transformers reads it. */
import { join } from 'node:path'
import {
  InputError,
  UnsupportedError,
  detectQuantization,
  readModelText,
  type ModelText,
} from '@cairn-tune/weights'
import { z } from 'zod'
import { configKeys, unknownKey, type ConfigKeys } from './config-keys.ts'
import { FAMILIES, FAMILY_NAMES, familyOf, type FamilyName } from './families.ts'
import type { ModelConfig } from './model-config.ts'

/** Reads and checks config.json (and ModelOpt's hf_quant_config.json) of a model directory. */
export async function readModelConfig(directory: string): Promise<ModelConfig> {
  const path = join(directory, 'config.json')
  const config = await readJson(directory, 'config.json')
  if (config === undefined)
    throw new InputError(
      `${path}: no such file; a model directory has config.json, *.safetensors and tokenizer.json`,
    )
  const json = z.record(z.string(), z.unknown()).safeParse(config)
  if (!json.success) throw new InputError(`${path}: must be a JSON object`)
  const separate =
    json.data['quantization_config'] === undefined
      ? await readJson(directory, 'hf_quant_config.json')
      : undefined
  return parseModelConfig(
    path,
    separate === undefined ? json.data : { ...json.data, quantization_config: separate },
  )
}

/** The pure part of readModelConfig. */
export function parseModelConfig(path: string, json: Readonly<Record<string, unknown>>): ModelConfig {
  const found = familyOf(json['model_type'])
  if (!found)
    throw new UnsupportedError(
      `${path}: model_type ${JSON.stringify(json['model_type'])} is not supported; supported: ${FAMILY_NAMES.join(', ')}`,
    )
  const [name, family] = found
  const unknown = unknownKey(json)
  if (unknown !== undefined)
    throw new UnsupportedError(
      `${path}: ${unknown} ${JSON.stringify(json[unknown])} is not supported: nothing here knows what it changes in a ${name} model; remove the key if it changes nothing`,
    )
  const parsed = configKeys.safeParse({ ...family.defaults, ...json })
  if (!parsed.success) throw new InputError(`${path}: ${z.prettifyError(parsed.error)}`)
  refuseUnsupported(path, parsed.data)
  return {
    ...configOf(path, name, parsed.data),
    quantization: detectQuantization(path, json['quantization_config']),
  }
}

async function readJson(directory: string, name: ModelText): Promise<unknown> {
  const text = await readModelText(directory, name)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch (cause) {
    throw new InputError(`${join(directory, name)}: not JSON`, { cause })
  }
}

function refuseUnsupported(path: string, c: ConfigKeys): void {
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
}

function configOf(path: string, name: FamilyName, c: ConfigKeys): ModelConfig {
  const kvHeads = c.num_key_value_heads ?? c.num_attention_heads
  const headDim = c.head_dim ?? c.hidden_size / c.num_attention_heads
  if (c.num_attention_heads % kvHeads !== 0)
    throw new InputError(
      `${path}: num_attention_heads ${c.num_attention_heads} must be a multiple of num_key_value_heads ${kvHeads}`,
    )
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw new InputError(`${path}: head_dim must be even, got ${headDim}`)
  const layerTypes = c.layer_types?.length ?? c.num_hidden_layers
  if (layerTypes !== c.num_hidden_layers)
    throw new InputError(`${path}: layer_types has ${layerTypes} entries for ${c.num_hidden_layers} layers`)
  const { ropes, layers, ...forward } = FAMILIES[name].forward(c)
  return {
    model_type: name,
    vocab_size: c.vocab_size,
    hidden_size: c.hidden_size,
    intermediate_size: c.intermediate_size,
    num_hidden_layers: c.num_hidden_layers,
    num_attention_heads: c.num_attention_heads,
    num_key_value_heads: kvHeads,
    head_dim: headDim,
    rms_norm_eps: c.rms_norm_eps,
    max_position_embeddings: c.max_position_embeddings,
    tie_word_embeddings: c.tie_word_embeddings,
    initializer_range: c.initializer_range,
    bos_token_id: c.bos_token_id ?? undefined,
    eos_token_ids: [c.eos_token_id ?? []].flat(),
    pad_token_id: c.pad_token_id ?? undefined,
    ropes: ropes ?? [{ theta: c.rope_parameters?.rope_theta ?? c.rope_theta, width: headDim }],
    layers: layers ?? Array.from({ length: c.num_hidden_layers }, () => ({ rope: 0 })),
    attention_scale: headDim ** -0.5,
    qk_norm: false,
    ...forward,
    quantization: undefined,
  }
}

/**
 * Text of a config.json with these keys, in the layout that every version of transformers reads. Undefined
 * keys are left out.
 */
export function configJsonText(keys: Readonly<Record<string, unknown>> & { model_type: FamilyName }): string {
  return `${JSON.stringify({ architectures: [FAMILIES[keys.model_type].architecture], ...keys, torch_dtype: 'bfloat16', use_cache: true }, null, 2)}\n`
}
