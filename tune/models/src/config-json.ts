/** config.json of a model directory, read as transformers reads it: the shape of the architecture. */
import { join } from 'node:path'
import {
  InputError,
  UnsupportedError,
  detectQuantization,
  readModelText,
  type ModelText,
} from '@cairn-tune/weights'
import { z } from 'zod'
import { SUPPORTED_VALUES, configKeys, unknownKey, type ConfigKeys } from './config-keys.ts'
import { FAMILIES, FAMILY_NAMES, familyOf, type Family, type FamilyName } from './families.ts'
import type { Forward } from './forward.ts'
import type { ModelConfig, Rope } from './model-config.ts'
import { ropeOf, type LayerKind } from './rope-config.ts'

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
      `${path}: model_type ${JSON.stringify(json['model_type'])} is not supported; supported: ` +
        `${FAMILY_NAMES.join(', ')}`,
    )
  const [name, family] = found
  const unknown = unknownKey(json, family.keys)
  if (unknown !== undefined)
    throw new UnsupportedError(
      `${path}: unknown key ${unknown} ${JSON.stringify(json[unknown])}: ` +
        `its effect on a ${name} model is unknown; remove it if it has none`,
    )
  // The newer key overrides the defaults of a family; the two are not mixed.
  const older = json['rope_parameters'] ? { rope_scaling: undefined } : {}
  const parsed = configKeys.safeParse({ ...family.defaults, ...older, ...json })
  if (!parsed.success) throw new InputError(`${path}: ${z.prettifyError(parsed.error)}`)
  const config = configOf(path, name, family, parsed.data)
  refuseUnsupported(path, family, config, parsed.data)
  return { ...config, quantization: detectQuantization(path, json['quantization_config']) }
}

async function readJson(directory: string, name: ModelText): Promise<unknown> {
  const text = await readModelText(directory, name)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as unknown
  } catch (error) {
    throw new InputError(`${join(directory, name)}: not JSON`, { cause: error })
  }
}

/** Names of an activation in config.json. */
const ACTIVATIONS: Record<Forward['activation'], readonly string[]> = {
  swiglu: ['silu', 'swish'],
  geglu: ['gelu_pytorch_tanh'],
}

function refuseUnsupported(
  path: string,
  { activations = [], softCaps = false }: Family,
  { activation }: ModelConfig,
  c: ConfigKeys,
): void {
  const unsupported = (key: string, value: unknown, wanted: string): never => {
    throw new UnsupportedError(`${path}: ${key} ${JSON.stringify(value)} is not supported; ${wanted}`)
  }
  const name = c.hidden_activation ?? c.hidden_act
  if (![...ACTIVATIONS[activation], ...activations].includes(name))
    unsupported('hidden_act', name, `it must be ${JSON.stringify(ACTIVATIONS[activation][0])}`)
  for (const [key, supported] of Object.entries(SUPPORTED_VALUES)) {
    if (softCaps && key.endsWith('_softcapping')) continue
    const value = c[key]
    if (value !== null && value !== undefined && !supported.some(one => one === value))
      unsupported(key, value, supported.length === 0 ? 'it must be absent' : `it must be ${supported[0]}`)
  }
}

function configOf(path: string, name: FamilyName, family: Family, c: ConfigKeys): ModelConfig {
  const kvHeads = c.num_key_value_heads ?? c.num_attention_heads
  const headDim = c.head_dim ?? c.hidden_size / c.num_attention_heads
  if (c.num_attention_heads % kvHeads !== 0)
    throw new InputError(
      `${path}: num_attention_heads ${c.num_attention_heads} must be a multiple of num_key_value_heads ` +
        `${kvHeads}`,
    )
  if (!Number.isInteger(headDim) || headDim % 2 !== 0)
    throw new InputError(`${path}: head_dim must be even, got ${headDim}`)
  if (
    c.num_experts_per_tok !== undefined &&
    c.num_experts_per_tok > (c.num_experts ?? c.num_local_experts ?? 0)
  )
    throw new InputError(
      `${path}: num_experts_per_tok ${c.num_experts_per_tok} is more than the number of experts, ` +
        `${c.num_experts ?? c.num_local_experts ?? 0}`,
    )
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
    ...layersOf(path, family, c, headDim),
    attention_scale: headDim ** -0.5,
    embedding_scale: 0,
    embedding_multiplier: 1,
    residual_multiplier: 1,
    logits_scale: 1,
    attention_softcap: 0,
    logits_softcap: 0,
    rotates_neighbours: false,
    sinks: false,
    qk_norm: false,
    weight_offset: 0,
    norms: 'before',
    norm_names: ['post_attention_layernorm', 'pre_feedforward_layernorm', 'post_feedforward_layernorm'],
    fused: [],
    activation: 'swiglu',
    biases: [],
    experts: undefined,
    ...family.forward?.(c),
    quantization: undefined,
  }
}

/** Rotations and windows, layer by layer. Layers of one kind share a rotation. */
function layersOf(
  path: string,
  { slides, windows, rotates, sparse, scalesWindows = true }: Family,
  c: ConfigKeys,
  headDim: number,
): Pick<ModelConfig, 'ropes' | 'layers'> {
  const count = c.num_hidden_layers
  if (c.layer_types && c.layer_types.length !== count)
    throw new InputError(`${path}: layer_types has ${c.layer_types.length} entries for ${count} layers`)
  const usesWindows = windows?.(c) ?? true
  if (usesWindows && c.sliding_window === 0)
    throw new InputError(`${path}: sliding_window must be positive or null, got 0`)
  const window = usesWindows ? (c.sliding_window ?? 0) : 0
  const kinds = Array.from({ length: count }, (_, i): LayerKind => {
    const isWindowed = c.layer_types ? c.layer_types[i] === 'sliding_attention' : slides?.(c, i)
    return isWindowed ? 'sliding_attention' : 'full_attention'
  })
  // Kinds with equal rotations share a rope.
  const ropes = new Map<string, Rope>()
  const textOf = (kind: LayerKind) => {
    const rope = ropeOf({ path, headDim, scalesWindows }, c, kind)
    const text = JSON.stringify(rope)
    ropes.set(text, rope)
    return text
  }
  const texts = new Map([...new Set(kinds)].map(kind => [kind, textOf(kind)]))
  const places = [...ropes.keys()]
  return {
    ropes: [...ropes.values()],
    layers: kinds.map((kind, i) => ({
      rope: (rotates?.(c, i) ?? true) ? places.indexOf(texts.get(kind) ?? '') : undefined,
      window: kind === 'sliding_attention' ? window : 0,
      has_experts: sparse?.(c, i) ?? false,
    })),
  }
}

/**
 * Text of a config.json with these keys, in the layout that every version of transformers reads. Undefined
 * keys are left out.
 */
export function configJsonText(keys: Readonly<Record<string, unknown>> & { model_type: FamilyName }): string {
  const { architecture } = FAMILIES[keys.model_type]
  const json = { architectures: [architecture], ...keys, torch_dtype: 'bfloat16', use_cache: true }
  return `${JSON.stringify(json, null, 2)}\n`
}
