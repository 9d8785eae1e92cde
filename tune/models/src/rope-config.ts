/** From config.json's keys to the rotations of a model's layers. */
import { InputError, UnsupportedError } from '@cairn-tune/weights'
import type { ConfigKeys, RopeKeys } from './config-keys.ts'
import type { Rope, RopeScaling } from './model-config.ts'

/**
 * Path of the config.json, the size of a head, and whether `rope_scaling` applies to layers with windows,
 * too.
 */
type RopeSource = { path: string; headDim: number; scalesWindows: boolean }

/** Kinds of layers that may have different rotations. */
export type LayerKind = 'full_attention' | 'sliding_attention'

const isByKind = (
  parameters: ConfigKeys['rope_parameters'],
): parameters is Partial<Record<LayerKind, RopeKeys>> =>
  parameters !== null &&
  parameters !== undefined &&
  ('full_attention' in parameters || 'sliding_attention' in parameters)

/**
 * The rotation of a kind of layer. With `rope_local_base_freq`, windowed layers use that base and no scaling.
 */
export function ropeOf(place: RopeSource, c: ConfigKeys, kind: LayerKind): Rope {
  const { rope_parameters: parameters, rope_local_base_freq: local } = c
  const isLocal = kind === 'sliding_attention' && typeof local === 'number'
  const shared = isByKind(parameters) ? undefined : parameters
  const isUnscaled = isLocal || (kind === 'sliding_attention' && !place.scalesWindows)
  const own = isByKind(parameters) ? parameters[kind] : isUnscaled ? undefined : (c.rope_scaling ?? shared)
  const keys: RopeKeys = own ?? {}
  const width = Math.floor(
    place.headDim *
      (keys.partial_rotary_factor ?? shared?.partial_rotary_factor ?? c.partial_rotary_factor ?? 1),
  )
  if (width % 2 !== 0 || width === 0)
    throw new InputError(
      `${place.path}: the number of rotary dimensions of a head must be even, got ${width}`,
    )
  const scaling = scalingOf(place.path, c, keys, width)
  return {
    theta: keys.rope_theta ?? (isLocal ? local : (shared?.rope_theta ?? c.rope_theta)),
    width,
    scaling,
    attention_factor: scaling ? attentionFactor(c, keys, scaling) : 1,
  }
}

/** Context length that the model was trained on before its positions were scaled. */
const originalLength = (c: ConfigKeys, keys: RopeKeys) =>
  keys.original_max_position_embeddings ?? c.original_max_position_embeddings ?? c.max_position_embeddings

function scalingOf(path: string, c: ConfigKeys, keys: RopeKeys, width: number): RopeScaling | undefined {
  const type = keys.rope_type ?? keys.type ?? 'default'
  const needed = (key: 'factor' | 'low_freq_factor' | 'high_freq_factor'): number => {
    const value = keys[key]
    if (value === undefined) throw new InputError(`${path}: rope_type ${type} needs ${key}`)
    return value
  }
  const factors = (key: 'short_factor' | 'long_factor'): readonly number[] => {
    const found = keys[key]
    if (found?.length !== width / 2)
      throw new InputError(`${path}: ${key} must have ${width / 2} numbers, got ${found?.length ?? 'none'}`)
    return found
  }
  const original = originalLength(c, keys)
  switch (type) {
    case 'default':
      return undefined
    case 'linear':
      return { type, factor: needed('factor') }
    case 'llama3':
      return {
        type,
        factor: needed('factor'),
        low: needed('low_freq_factor'),
        high: needed('high_freq_factor'),
        original,
      }
    case 'yarn': {
      const factor = keys.factor ?? c.max_position_embeddings / original
      const [fast, slow] = [keys.beta_fast ?? 32, keys.beta_slow ?? 1]
      return { type, factor, fast, slow, original, truncates: keys.truncate ?? true }
    }
    case 'longrope':
    case 'su':
      return { type: 'longrope', short: factors('short_factor'), long: factors('long_factor'), original }
    default:
      throw new UnsupportedError(
        `${path}: rope_type ${JSON.stringify(type)} is not supported; supported: ` +
          'default, linear, llama3, yarn, longrope',
      )
  }
}

/** transformers' factor of cosines and sines. */
function attentionFactor(c: ConfigKeys, keys: RopeKeys, scaling: RopeScaling): number {
  if (keys.attention_factor)
    return scaling.type === 'yarn' || scaling.type === 'longrope' ? keys.attention_factor : 1
  if (scaling.type === 'yarn') {
    const grown = (scale = 1) => (scaling.factor <= 1 ? 1 : 0.1 * scale * Math.log(scaling.factor) + 1)
    const { mscale, mscale_all_dim: all } = keys
    return mscale && all ? grown(mscale) / grown(all) : grown()
  }
  if (scaling.type === 'longrope') {
    const factor = keys.factor ?? c.max_position_embeddings / scaling.original
    return factor <= 1 ? 1 : Math.sqrt(1 + Math.log(factor) / Math.log(scaling.original))
  }
  return 1
}
