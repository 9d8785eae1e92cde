/** Options of a server. */
import type { Dtype } from '@cairn-tune/ops'

/**
 * Storage of the frozen projections for `quantization`. The names match the bases of the training recipes.
 */
export const QUANTIZATIONS = {
  fp8: 'fp8_tiles',
  nvfp4: 'nvfp4',
  mxfp4: 'mxfp4',
  nf4: 'nf4',
} as const satisfies Record<string, Dtype>
export type Quantization = keyof typeof QUANTIZATIONS

export type ServeOptions = {
  /** Directory of a model, or its hub name. */
  model: string
  host?: string
  /** 0 picks a free port. */
  port?: number
  /** Names of the base in requests. Defaults to its own. */
  servedModelNames?: readonly string[]
  /** Maximum tokens of prompt and answer together. */
  maxModelLen?: number
  enableLora?: boolean
  maxLoraRank?: number
  /** Maximum adapters in use at the same time. */
  maxLoras?: number
  /** Maximum adapters in memory. The most recently used have the slots. */
  maxCpuLoras?: number
  /** Text of a chat template that replaces the model's. */
  chatTemplate?: string
  /** Clients must present one of these keys. */
  apiKeys?: readonly string[]
  /** Origins whose pages may send requests and read answers; `*` is any. */
  allowedOrigins?: readonly string[]
  /** Adapters loaded at the start: name → directory. */
  loraModules?: Readonly<Record<string, string>>
  /** cpu, cuda or cuda:1. Defaults to cpu. */
  device?: string
  /** Number of compute threads. Defaults to the cores the process may use. */
  threads?: number
  /** Bytes of the KV cache. */
  kvCacheBytes?: number
  dtype?: 'auto' | 'bf16' | 'f32'
  quantization?: Quantization
  /** Layers at the start and at the end that `quantization` skips, as training may. */
  skipQuantFirstLayers?: number
  skipQuantLastLayers?: number
  /** Maximum sequences computed at the same time; others wait. */
  maxSequences?: number
  /** Maximum rows of a forward pass. */
  maxBatchedTokens?: number
  /** Whether prompts reuse cached blocks of a common prefix. */
  prefixCaching?: boolean
  /**
   * Milliseconds until a connection without a complete head is closed (20,000), and six times that for a
   * body.
   */
  headersTimeoutMs?: number
  /** Source of `VLLM_ALLOW_RUNTIME_LORA_UPDATING`, the hub's cache and its token. */
  env?: Readonly<Record<string, string | undefined>>
  /** Receives progress while the server starts. */
  log?: (line: string) => void
}

export const DEFAULTS = {
  host: '127.0.0.1',
  port: 8000,
  maxLoraRank: 64,
  maxLoras: 16,
  maxSequences: 64,
  maxBatchedTokens: 512,
} as const

/** Default share of the device's memory for the cache, unless all sequences at full length need less. */
export const CACHE_SHARE = 0.25
