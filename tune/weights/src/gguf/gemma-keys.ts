/** GGUF keys of Gemma 3, and constants of it in llama.cpp. */
import { UnsupportedError } from '../errors.ts'
import type { ConfigToWrite } from './config-to-write.ts'
import type { OwnKeys } from './own-keys.ts'
import { f32, u32 } from './writer.ts'

/** Every sixth layer attends to all keys, the others to a window. */
const PATTERN = 6
const isFull = (layer: number): boolean => (layer + 1) % PATTERN === 0
/** Number of layers of the only size whose attention scale does not follow the width of its heads. */
const LAYERS_OF_27B = 62
const WINDOW = 'attention.sliding_window'
const THETA_OF_WINDOWS = 'rope.freq_base_swa'
/** llama.cpp's default for files without the key. */
const DEFAULT_THETA = 10_000

export const GEMMA_KEYS: OwnKeys = {
  keys: [WINDOW, THETA_OF_WINDOWS],
  placesTokens: true,
  read({ metadata }, key) {
    const whole = (name: string) => metadata.needs(key(name), metadata.whole(key(name)))
    const width = metadata.whole(key('attention.key_length'))
    const heads = whole('attention.head_count')
    const hidden = whole('embedding_length')
    return {
      sliding_window: whole(WINDOW),
      sliding_window_pattern: PATTERN,
      rope_local_base_freq: metadata.number(key(THETA_OF_WINDOWS)) ?? DEFAULT_THETA,
      query_pre_attn_scalar:
        whole('block_count') === LAYERS_OF_27B ? hidden / heads : (width ?? hidden / heads),
      hidden_activation: 'gelu_pytorch_tanh',
    }
  },
  write(config) {
    refuseOtherwise(config)
    const { layers, ropes } = config
    const windowed = layers[0]
    return {
      [WINDOW]: u32(windowed?.window ?? 0),
      'rope.freq_base': f32(
        thetaOf(
          config,
          layers.findIndex((_, i) => isFull(i)),
        ),
      ),
      [THETA_OF_WINDOWS]: f32(ropes[windowed?.rope ?? 0]?.theta ?? DEFAULT_THETA),
    }
  },
}

/** Rope theta of a layer. A negative index, when no layer sees all keys, means the first layer. */
function thetaOf({ layers, ropes }: ConfigToWrite, layer: number): number {
  return ropes[layers[Math.max(layer, 0)]?.rope ?? 0]?.theta ?? 0
}

function refuseOtherwise({ layers, ropes, head_dim, hidden_size, ...config }: ConfigToWrite): void {
  const window = layers[0]?.window ?? 0
  const wrong = layers.findIndex((layer, i) => layer.window !== (isFull(i) ? 0 : window))
  if (wrong >= 0 || window === 0)
    throw new UnsupportedError(
      `in a GGUF file of gemma3 all layers but every ${PATTERN}th have a window; ` +
        `layer ${Math.max(wrong, 0)} does not follow this pattern`,
    )
  const scaled = ropes.find(({ scaling }) => scaling !== undefined)
  if (scaled)
    throw new UnsupportedError(
      `cannot write rope scaling ${JSON.stringify(scaled.scaling?.type)} to a GGUF file of gemma3`,
    )
  const width = layers.length === LAYERS_OF_27B ? hidden_size / config.num_attention_heads : head_dim
  const scale = config.attention_scale
  if (Math.abs(scale * width ** 0.5 - 1) > 1e-6)
    throw new UnsupportedError(
      `cannot write query_pre_attn_scalar ${Math.round(scale ** -2)} to a GGUF file: ` +
        `llama.cpp always uses ${width} for a model of this size`,
    )
}
