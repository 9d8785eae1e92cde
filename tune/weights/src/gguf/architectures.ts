/**
 * Model families as GGUF has them: a row says which model_type of config.json an architecture is, and how it
 * calls each weight. What no row names is refused, never guessed.
 */

/** Layer weight as config.json's world names it → as GGUF does, both without `.weight` and `.bias`. */
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
const LLAMA_LAYER = {
  ...ATTENTION,
  'mlp.gate_proj': 'ffn_gate',
  'mlp.up_proj': 'ffn_up',
  'mlp.down_proj': 'ffn_down',
} as const

export type Architecture = {
  /** general.architecture. */
  name: string
  /**
   * The model_type of config.json that a file is read as; which families are written as it, their rows say.
   */
  modelType: string
  /** `architectures` of config.json. */
  className: string
  layer: Readonly<Record<string, string>>
  /** Whether its feed-forward parts are experts, each projection of all of them one tensor. */
  hasExperts?: boolean
  /** Linears of a layer that have a bias. */
  biased?: readonly string[]
  /**
   * Rows of q and k are pairs that rotate together, one beside the other, where config.json's world has
   * all first ones of a head before all second ones.
   */
  permutesPairs?: boolean
}

export const ARCHITECTURES: readonly Architecture[] = [
  {
    name: 'llama',
    modelType: 'llama',
    className: 'LlamaForCausalLM',
    layer: LLAMA_LAYER,
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
    hasExperts: true,
  },
]

/** The router, which files have in f32 whatever the other matrices are. */
export const isRouter = (name: string): boolean => name.endsWith('.mlp.gate.weight')

export const ARCHITECTURE_NAMES: readonly string[] = ARCHITECTURES.map(({ name }) => name)

const OUTSIDE_LAYERS = {
  'model.embed_tokens.weight': 'token_embd.weight',
  'model.norm.weight': 'output_norm.weight',
  'lm_head.weight': 'output.weight',
} as const

/**
 * A weight in both worlds; `permuted` says whose heads its rows belong to where they are permuted to pairs.
 */
export type WeightName = { name: string; gguf: string; permuted?: 'queries' | 'keys' }

/** Every weight that a model of so many layers may have, outside ones first. */
export function weightNames(row: Architecture, layers: number): WeightName[] {
  const outside = Object.entries(OUTSIDE_LAYERS).map(([name, gguf]) => ({ name, gguf }))
  const parts = Object.entries(row.layer).flatMap(([part, gguf]) => [
    [`${part}.weight`, `${gguf}.weight`] as const,
    ...(row.biased?.includes(part) ? [[`${part}.bias`, `${gguf}.bias`] as const] : []),
  ])
  const inside = Array.from({ length: layers }, (_, l) =>
    parts.map(([part, gguf]) => ({
      name: `model.layers.${l}.${part}`,
      gguf: `blk.${l}.${gguf}`,
      ...permutedOf(row, part),
    })),
  )
  return [...outside, ...inside.flat()]
}

function permutedOf(row: Architecture, part: string): Pick<WeightName, 'permuted'> {
  if (!row.permutesPairs) return {}
  if (part.startsWith('self_attn.q_proj')) return { permuted: 'queries' }
  return part.startsWith('self_attn.k_proj') ? { permuted: 'keys' } : {}
}

/**
 * Rows of so many heads from pairs side by side to halves (`toHalves`) or back: row 2i + s of a head is row
 * s · D/2 + i of it. Bytes of a row stay together.
 */
export function permuteRows(bytes: Uint8Array, rows: number, heads: number, toHalves: boolean): Uint8Array {
  const half = rows / heads / 2
  const size = bytes.byteLength / rows
  if (!Number.isInteger(half) || !Number.isInteger(size))
    throw new Error(`[permuteRows] ${rows} rows of ${bytes.byteLength} bytes are no pairs of ${heads} heads`)
  const permuted = new Uint8Array(bytes.byteLength)
  for (let row = 0; row < rows; row++) {
    const head = Math.floor(row / (2 * half))
    const within = row % (2 * half)
    const [side, i] = [Math.floor(within / half), within % half]
    // `row` counts halves; `paired` is where the same row is among pairs.
    const paired = head * 2 * half + 2 * i + side
    const [from, to] = toHalves ? [paired, row] : [row, paired]
    permuted.set(bytes.subarray(from * size, (from + 1) * size), to * size)
  }
  return permuted
}
