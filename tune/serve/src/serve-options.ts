/** Options of a server. */
import type { Dtype } from '@cairn-tune/ops'

/** How `quantization` stores the frozen projections; the names of the training recipes' bases. */
export const QUANTIZATIONS = {
  fp8: 'fp8_tiles',
  nvfp4: 'nvfp4',
  mxfp4: 'mxfp4',
  nf4: 'nf4',
} as const satisfies Record<string, Dtype>
export type Quantization = keyof typeof QUANTIZATIONS

export type ServeOptions = {
  /** Directory of a model, or its name on the hub. */
  model: string
  host?: string
  /** 0 takes any free port. */
  port?: number
  /** Names that the base answers to; its own by default. */
  servedModelNames?: readonly string[]
  /** Tokens of prompt and answer together. */
  maxModelLen?: number
  enableLora?: boolean
  maxLoraRank?: number
  /** Adapters that sequences can use at the same time. */
  maxLoras?: number
  /** Adapters that are kept in memory; the ones used last have the slots. */
  maxCpuLoras?: number
  /** A chat template in place of the model's: its text. */
  chatTemplate?: string
  /** Any of them is asked of every client. */
  apiKeys?: readonly string[]
  /** Origins whose pages may send requests and read answers; `*` is any. */
  allowedOrigins?: readonly string[]
  /** Name → directory of adapters that are there from the start. */
  loraModules?: Readonly<Record<string, string>>
  /** Threads that compute; the cores the process may use. */
  threads?: number
  /** Bytes of the cache of keys and values. */
  kvCacheBytes?: number
  dtype?: 'auto' | 'bf16' | 'f32'
  quantization?: Quantization
  /** Layers at the start and at the end that `quantization` leaves as they are, as training may have. */
  skipQuantFirstLayers?: number
  skipQuantLastLayers?: number
  /** Sequences that are computed at the same time; others wait. */
  maxSequences?: number
  /** Rows of a forward pass. */
  maxBatchedTokens?: number
  /** Whether prompts reuse what is cached of the same beginning. */
  prefixCaching?: boolean
  /** Milliseconds until a connection without a whole head is closed (20,000), and six times that for a body. */
  headersTimeoutMs?: number
  /** Where `VLLM_ALLOW_RUNTIME_LORA_UPDATING`, the hub's cache and its token are read from. */
  env?: Readonly<Record<string, string | undefined>>
  /** Told what happens while the server starts. */
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

/**
 * A share of the machine's memory that the cache takes where nothing is said, unless all sequences at full
 * length need less.
 */
export const CACHE_SHARE = 0.25
