/** Checks of a run's adapter: by its configuration keys alone, and against the model. */
import { partsOf, type ModelConfig } from '@cairn-tune/models'
import { InputError, matchesLinear, matchesPattern } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { checkFused } from './fused-layout.ts'
import { isPreference } from './methods.ts'
import { checkTrainedWeights } from './trained-weights.ts'

/** Rejects adapter keys that contradict each other. */
export function checkAdapterKeys(config: TrainConfig): void {
  const { lora, lora_dropout: rate, lora_expert_rank: expertRank, use_dora: isDora } = config
  const patterns = (['rank_pattern', 'alpha_pattern'] as const).filter(key => config[key] !== undefined)
  if (config.use_rslora && expertRank !== undefined)
    throw new InputError(
      'use_rslora and lora_expert_rank exclude each other: it is undefined which root applies',
    )
  if (patterns[0] !== undefined && expertRank !== undefined)
    throw new InputError(
      `${patterns[0]} and lora_expert_rank exclude each other: ` +
        'lora_expert_rank is itself written as patterns',
    )
  const alone = [
    config.init_adapter === undefined ? [] : ['init_adapter'],
    isDora ? ['use_dora'] : [],
    rate > 0 ? ['lora_dropout'] : [],
    patterns,
    config.adapter_layout === 'per-expert' ? [] : ['adapter_layout'],
  ].flat()
  if (!lora && alone[0] !== undefined)
    throw new InputError(
      `${alone[0]} needs an adapter, and lora: false trains none; merge the adapter into the model first`,
    )
  if (isDora && rate > 0)
    throw new InputError(
      'use_dora and lora_dropout exclude each other: the row norms would not match the dropped inputs',
    )
  if (rate > 0 && isPreference(config.method))
    throw new InputError(
      `lora_dropout: not available with method ${config.method}, which compares answers that would ` +
        'lose different inputs',
    )
}

/**
 * Rejects an adapter on a linear that the model does not have, or that does not support this kind of adapter.
 */
export function checkModules(config: TrainConfig, model: ModelConfig): void {
  const { lora_target_modules: wanted, lora_expert_rank: expertRank, model: name } = config
  if (expertRank !== undefined && !model.experts)
    throw new InputError(`lora_expert_rank: ${name} is a ${model.model_type} model without experts`)
  if (config.router_aux_loss_coef > 0 && !model.experts)
    throw new InputError(`router_aux_loss_coef: ${name} is a ${model.model_type} model without experts`)
  const { modules, projections } = partsOf(model)
  checkTrainedWeights(config, model)
  if (config.adapter_layout === 'peft-fused') checkFused(config, model)
  const missing = wanted?.find(module => !modules.includes(module))
  if (missing !== undefined)
    throw new InputError(
      `lora_target_modules: ${name} is a ${model.model_type} model without ${missing}; ` +
        `it has ${modules.join(', ')}`,
    )
  const targets = projections.filter(
    ({ name: linear }) => wanted === undefined || wanted.some(module => matchesLinear(module, linear)),
  )
  const ofExperts = targets.find(({ experts }) => experts !== undefined)
  const key = config.use_dora ? 'use_dora' : config.lora_dropout > 0 ? 'lora_dropout' : undefined
  if (key !== undefined && ofExperts)
    throw new InputError(
      `${key}: not available for adapters of experts, as in PEFT; ` +
        'exclude experts with lora_target_modules: q_proj,k_proj,v_proj,o_proj',
    )
  for (const pattern of ['rank_pattern', 'alpha_pattern'] as const)
    for (const part of Object.keys(config[pattern] ?? {})) {
      const named = targets.filter(({ name: linear }) => matchesPattern(part, linear))
      if (named.length === 0)
        throw new InputError(`${pattern}: ${part} is not a projection of ${name} that gets an adapter`)
      if (named.some(({ experts }) => experts !== undefined))
        throw new InputError(
          `${pattern}: ${part} belongs to experts, for which PEFT has no patterns; use lora_expert_rank`,
        )
    }
}
