/**
 * Model families in GGUF: each row maps an architecture to a model_type of config.json, and names each
 * weight. A tensor that no row names is rejected.
 */
import { GEMMA_KEYS } from './gemma-keys.ts'
import {
  GPT_OSS_KEYS,
  GRANITE_KEYS,
  MIXTRAL_KEYS,
  PHI_KEYS,
  QWEN2_EXPERT_KEYS,
  QWEN_EXPERT_KEYS,
  SMOLLM_KEYS,
  type OwnKeys,
} from './own-keys.ts'

/** Names of layer weights: Hugging Face → GGUF, both without `.weight` and `.bias`. */
const ATTENTION = {
  input_layernorm: 'attn_norm',
  'self_attn.q_proj': 'attn_q',
  'self_attn.k_proj': 'attn_k',
  'self_attn.v_proj': 'attn_v',
  'self_attn.o_proj': 'attn_output',
  post_attention_layernorm: 'ffn_norm',
} as const
const HEAD_NORMS = { 'self_attn.q_norm': 'attn_q_norm', 'self_attn.k_norm': 'attn_k_norm' } as const
const EXPERTS = {
  'mlp.gate': 'ffn_gate_inp',
  'mlp.experts.gate_proj': 'ffn_gate_exps',
  'mlp.experts.up_proj': 'ffn_up_exps',
  'mlp.experts.down_proj': 'ffn_down_exps',
} as const
const GPT_OSS_LAYER = {
  ...ATTENTION,
  post_attention_layernorm: 'post_attention_norm',
  'mlp.router': 'ffn_gate_inp',
  'mlp.experts.down_proj': 'ffn_down_exps',
} as const
/** Linears of its attention, all with a bias. */
const PROJECTIONS = ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj', 'self_attn.o_proj'] as const
const LLAMA_LAYER = {
  ...ATTENTION,
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
} as const

export type Architecture = {
  /** general.architecture. */
  name: string
  /** Set if another row of this name is for models without experts. */
  hasExperts?: true
  /**
   * The model_type of config.json that a file is read as. The rows of families say which are written as it.
   */
  modelType: string
  /** `architectures` of config.json. */
  className: string
  layer: Readonly<Record<string, string>>
  /** Weights of a layer whose Hugging Face names are complete, without `.weight` at the end. */
  whole?: Readonly<Record<string, string>>
  /** Weights of that kind whose even rows are one tensor of a file, and whose odd rows another. */
  alternating?: Readonly<Record<string, readonly [even: string, odd: string]>>
  /** Keys besides those of every architecture. */
  own?: OwnKeys
  /** Linears of a layer with a bias. */
  biased?: readonly string[]
  /**
   * Rows of q and k are interleaved pairs that rotate together. Hugging Face has all first halves of a head
   * before all second halves.
   */
  permutesPairs?: boolean
  /** Norms multiply by 1 + weight in Hugging Face checkpoints, and by the weight in a file. */
  addsOneToNorms?: boolean
}

const ARCHITECTURES: readonly Architecture[] = [
  {
    name: 'llama',
    modelType: 'llama',
    className: 'LlamaForCausalLM',
    layer: LLAMA_LAYER,
    permutesPairs: true,
  },
  {
    name: 'llama',
    hasExperts: true,
    modelType: 'mixtral',
    className: 'MixtralForCausalLM',
    layer: {
      ...ATTENTION,
      'block_sparse_moe.gate': 'ffn_gate_inp',
      'block_sparse_moe.experts.w1': 'ffn_gate_exps',
      'block_sparse_moe.experts.w3': 'ffn_up_exps',
      'block_sparse_moe.experts.w2': 'ffn_down_exps',
    },
    own: MIXTRAL_KEYS,
    permutesPairs: true,
  },
  {
    name: 'qwen2',
    modelType: 'qwen2',
    className: 'Qwen2ForCausalLM',
    layer: LLAMA_LAYER,
    biased: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  },
  {
    name: 'qwen3',
    modelType: 'qwen3',
    className: 'Qwen3ForCausalLM',
    layer: { ...LLAMA_LAYER, ...HEAD_NORMS },
  },
  {
    name: 'qwen3moe',
    modelType: 'qwen3_moe',
    className: 'Qwen3MoeForCausalLM',
    layer: { ...ATTENTION, ...HEAD_NORMS, ...EXPERTS },
    own: QWEN_EXPERT_KEYS,
  },
  {
    name: 'qwen2moe',
    modelType: 'qwen2_moe',
    className: 'Qwen2MoeForCausalLM',
    layer: {
      ...ATTENTION,
      ...EXPERTS,
      'mlp.shared_expert_gate': 'ffn_gate_inp_shexp',
      'mlp.shared_expert.gate_proj': 'ffn_gate_shexp',
      'mlp.shared_expert.up_proj': 'ffn_up_shexp',
      'mlp.shared_expert.down_proj': 'ffn_down_shexp',
    },
    biased: ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
    own: QWEN2_EXPERT_KEYS,
  },
  {
    name: 'granite',
    modelType: 'granite',
    className: 'GraniteForCausalLM',
    layer: LLAMA_LAYER,
    own: GRANITE_KEYS,
    permutesPairs: true,
  },
  {
    name: 'gpt-oss',
    modelType: 'gpt_oss',
    className: 'GptOssForCausalLM',
    layer: GPT_OSS_LAYER,
    biased: [...PROJECTIONS, 'mlp.router'],
    whole: { 'self_attn.sinks': 'attn_sinks.weight', 'mlp.experts.down_proj_bias': 'ffn_down_exps.bias' },
    alternating: {
      'mlp.experts.gate_up_proj.weight': ['ffn_gate_exps.weight', 'ffn_up_exps.weight'],
      'mlp.experts.gate_up_proj_bias': ['ffn_gate_exps.bias', 'ffn_up_exps.bias'],
    },
    own: GPT_OSS_KEYS,
  },
  {
    name: 'phi3',
    modelType: 'phi3',
    className: 'Phi3ForCausalLM',
    // Gates come before ups in both formats.
    layer: {
      input_layernorm: 'attn_norm',
      'self_attn.qkv_proj': 'attn_qkv',
      'self_attn.o_proj': 'attn_output',
      post_attention_layernorm: 'ffn_norm',
      'mlp.gate_up_proj': 'ffn_up',
      'mlp.down_proj': 'ffn_down',
    },
    own: PHI_KEYS,
  },
  {
    name: 'gemma3',
    modelType: 'gemma3_text',
    className: 'Gemma3ForCausalLM',
    layer: {
      ...LLAMA_LAYER,
      ...HEAD_NORMS,
      post_attention_layernorm: 'post_attention_norm',
      pre_feedforward_layernorm: 'ffn_norm',
      post_feedforward_layernorm: 'post_ffw_norm',
    },
    own: GEMMA_KEYS,
    addsOneToNorms: true,
  },
  {
    name: 'smollm3',
    modelType: 'smollm3',
    className: 'SmolLM3ForCausalLM',
    layer: LLAMA_LAYER,
    own: SMOLLM_KEYS,
    permutesPairs: true,
  },
]

/** Weights that files store in f32 regardless of the matrices: the router, and biases of experts. */
export const isAlwaysF32 = (name: string): boolean =>
  /\.(?:mlp|block_sparse_moe)\.(?:gate|router|shared_expert_gate)\.weight$|_bias$/.test(name)

/** Whether a file stores this weight plus one. */
export const storesPlusOne = ({ addsOneToNorms }: Architecture, name: string): boolean =>
  addsOneToNorms === true && name.endsWith('norm.weight')

export const ARCHITECTURE_NAMES: readonly string[] = [...new Set(ARCHITECTURES.map(({ name }) => name))]

/** The row of an architecture, for a model with or without experts. */
export function findArchitecture(name: string | undefined, hasExperts: boolean): Architecture | undefined {
  const rows = ARCHITECTURES.filter(row => row.name === name)
  return rows.find(row => (row.hasExperts ?? false) === hasExperts) ?? rows[0]
}

const OUTSIDE_LAYERS = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
} as const

/**
 * A weight in both formats. `permuted` names the heads whose rows are permuted to pairs, `rows` the half of
 * the weight's rows in a tensor that has every other row.
 */
export type WeightName = {
  name: string
  gguf: string
  permuted?: 'queries' | 'keys'
  rows?: 'even' | 'odd'
}

/**
 * Every weight that a model with `layers` layers may have, weights outside of layers first, by tensors of a
 * file.
 */
export function weightNames(row: Architecture, layers: number): WeightName[] {
  const outside = Object.entries(OUTSIDE_LAYERS).map(([name, gguf]) => ({ name, gguf }))
  const parts = Object.entries(row.layer).flatMap(([part, gguf]) => [
    [`${part}.weight`, `${gguf}.weight`] as const,
    ...(row.biased?.includes(part) ? [[`${part}.bias`, `${gguf}.bias`] as const] : []),
  ])
  const inLayer: WeightName[] = [
    ...[...parts, ...Object.entries(row.whole ?? {})].map(([name, gguf]) => ({
      name,
      gguf,
      ...permutedOf(row, name),
    })),
    ...Object.entries(row.alternating ?? {}).flatMap(([name, [even, odd]]) => [
      { name, gguf: even, rows: 'even' as const },
      { name, gguf: odd, rows: 'odd' as const },
    ]),
  ]
  const inside = Array.from({ length: layers }, (_, l) =>
    inLayer.map(one => ({ ...one, name: `model.layers.${l}.${one.name}`, gguf: `blk.${l}.${one.gguf}` })),
  )
  return [...outside, ...inside.flat()]
}

function permutedOf(row: Architecture, part: string): Pick<WeightName, 'permuted'> {
  if (!row.permutesPairs) return {}
  if (part.startsWith('self_attn.q_proj')) return { permuted: 'queries' }
  return part.startsWith('self_attn.k_proj') ? { permuted: 'keys' } : {}
}

/**
 * Permutes the rows of `heads` heads from interleaved pairs to halves (`toHalves`) or back: row 2i + s of a
 * head is row s · D/2 + i of it. Bytes of a row stay together.
 */
export function permuteRows(bytes: Uint8Array, rows: number, heads: number, toHalves: boolean): Uint8Array {
  const half = rows / heads / 2
  const size = bytes.byteLength / rows
  if (!Number.isInteger(half) || !Number.isInteger(size))
    throw new Error(
      `[permuteRows] ${rows} rows of ${bytes.byteLength} bytes do not divide into pairs of ${heads} heads`,
    )
  const permuted = new Uint8Array(bytes.byteLength)
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / (2 * half))
    const within = row % (2 * half)
    const [side, i] = [Math.floor(within / half), within % half]
    // `row` is an index among halves; `paired` is the index of the same row among pairs.
    const paired = head * 2 * half + 2 * i + side
    const [from, to] = toHalves ? [paired, row] : [row, paired]
    permuted.set(bytes.subarray(from * size, (from + 1) * size), to * size)
  }
  return permuted
}
