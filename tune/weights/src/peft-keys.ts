/**
 * Keys of adapter_config.json: those that are read, those that have no effect on a trained adapter, those
 * that are refused with a reason, and no others.
 */

/** Keys that peft-config.ts parses. */
const READ_KEYS = [
  'alpha_pattern',
  'base_model_name_or_path',
  'init_lora_weights',
  'lora_alpha',
  'lora_dropout',
  'modules_to_save',
  'peft_type',
  'r',
  'rank_pattern',
  'target_modules',
  'target_parameters',
  'trainable_token_indices',
  'use_dora',
  'use_rslora',
] as const

/**
 * Keys that select what was trained, how, and where. The file's tensors and the keys above already determine
 * the result. The last line is ms-swift's.
 */
const WITHOUT_EFFECT = new Set(
  `
  auto_mapping corda_config ensure_weight_tying eva_config exclude_modules inference_mode layers_pattern
  layers_to_transform lora_ga_config loftq_config megatron_config megatron_core peft_version
  qalora_group_size revision runtime_config task_type velora_config
  lora_dtype lorap_emb_lr lorap_lr_ratio
`
    .trim()
    .split(/\s+/),
)

const MERGE_WITH_PEFT = 'merge it with PEFT (merge_and_unload) and use the merged model'

/** Keys whose adapters compute something else, with the reason and the remedy. */
const REFUSED: Readonly<Record<string, string>> = {
  alora_invocation_tokens:
    'an activated LoRA applies only after its invocation tokens, which is not supported; ' +
    'train an ordinary adapter',
  arrow_config: 'Arrow routes between several adapters, which is not supported; load one of them alone',
  bias: `trained biases are not supported; ${MERGE_WITH_PEFT}`,
  fan_in_fan_out: 'transposed weights (GPT-2) do not exist in any supported family; set it to false',
  kasa_config: `KaSA changes the weights of the base; ${MERGE_WITH_PEFT}`,
  layer_replication: `the adapter needs a base with repeated layers; ${MERGE_WITH_PEFT}`,
  lora_bias: `biases of LoRA matrices are not supported; ${MERGE_WITH_PEFT}`,
  monteclora_config: 'MonteCLoRA samples its matrices, which is not supported; train an ordinary adapter',
  use_bdlora: `block-diagonal matrices are not supported; ${MERGE_WITH_PEFT}`,
  use_qalora: `QALoRA averages the inputs of its matrices, which is not supported; ${MERGE_WITH_PEFT}`,
}

/** Initial forms that leave the base as it is. PEFT's other ones subtract B·A from the base's weights. */
const HARMLESS_INITS: readonly unknown[] = [true, false, null, 'gaussian', 'eva', 'orthogonal', 'mica']
const BASE_CHANGES = [
  [
    /^(?:pissa|corda|olora|lora_ga)/i,
    'save it again with save_pretrained(path_initial_model_for_weight_conversion=…)',
  ],
  [/^loftq$/i, MERGE_WITH_PEFT],
] as const

/** Whether a value selects nothing: PEFT writes the defaults of all its keys. */
const isOff = (value: unknown): boolean =>
  value === null || value === undefined || value === false || value === 'none'

const shown = (value: unknown): string => {
  const text = JSON.stringify(value)
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

function initRefusal(value: unknown): string | undefined {
  if (value === undefined || HARMLESS_INITS.includes(value)) return undefined
  const [, remedy] = BASE_CHANGES.find(([pattern]) => typeof value === 'string' && pattern.test(value)) ?? []
  return remedy === undefined
    ? `init_lora_weights ${shown(value)} is unknown, and it may change the base; known: true, false, ` +
        'gaussian, eva, orthogonal, mica'
    : `init_lora_weights ${shown(value)}: PEFT changes the weights of the base when it loads such an ` +
        `adapter, so it does not fit the original base; ${remedy}`
}

/** The reason why an adapter with this adapter_config.json is refused. Undefined if there is none. */
export function peftRefusal(json: Readonly<Record<string, unknown>>): string | undefined {
  const type = json['peft_type']
  if (type === undefined && json['lora_parameters'] !== undefined)
    return 'lora_parameters: this is an adapter of mlx-lm; fuse it (mlx_lm.fuse) and use the fused model'
  if (type !== 'LORA')
    return (
      `peft_type ${shown(type ?? null)} is not supported, only "LORA"; ` +
      `${type === undefined ? 'use an adapter that PEFT saved' : MERGE_WITH_PEFT}`
    )
  for (const [key, value] of Object.entries(json)) {
    if (isOff(value)) continue
    const reason = Object.hasOwn(REFUSED, key) ? REFUSED[key] : undefined
    if (reason !== undefined) return `${key} ${shown(value)}: ${reason}`
    if (!WITHOUT_EFFECT.has(key) && !READ_KEYS.some(known => known === key))
      return (
        `unknown key ${key} ${shown(value)}: its effect on the adapter is unknown; ` +
        'remove it if it has none'
      )
  }
  return initRefusal(json['init_lora_weights'])
}
