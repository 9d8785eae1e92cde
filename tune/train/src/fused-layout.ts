/** adapter_layout: peft-fused. Its requirements, and the adapter_config.json of such an adapter. */
import { partsOf, scaleOf, type ModelConfig } from '@cairn-tune/models'
import {
  EXPERT_PARAMETERS,
  InputError,
  expertNamesOf,
  isFeedForward,
  matchesLinear,
  type AdapterConfig,
  type AdapterStack,
} from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'

/** Rejects the layout if there is nothing to fuse, or only half of what PEFT keeps in one parameter. */
export function checkFused(
  { model: name, lora_target_modules: wanted }: TrainConfig,
  model: ModelConfig,
): void {
  const experts = partsOf(model).projections.filter(projection => projection.experts !== undefined)
  const has = (module: string) =>
    experts.some(one => matchesLinear(module, one.name)) && (wanted === undefined || wanted.includes(module))
  if (!experts.some(one => wanted === undefined || wanted.some(module => matchesLinear(module, one.name))))
    throw new InputError(
      `adapter_layout: peft-fused needs adapters on experts, and no experts of ${name} get one`,
    )
  const names = expertNamesOf(experts)
  if (names && has(names.gate) !== has(names.up))
    throw new InputError(
      `adapter_layout: peft-fused stores ${names.gate} and ${names.up} in one parameter; ` +
        'lora_target_modules must name both or neither',
    )
}

/**
 * Keys of the configuration: parameters and their ranks by pattern. If gate and up are two projections, the
 * rank is that of both together; alpha / rank stays the same.
 */
export function fusedKeys(
  config: TrainConfig,
  /** Linears of the adapter outside of experts. */
  linears: readonly string[],
  stacks: readonly AdapterStack[],
): Pick<AdapterConfig, 'lora_target_modules' | 'target_parameters' | 'rank_pattern' | 'alpha_pattern'> {
  const downs = stacks.filter(({ name }) => name.endsWith('.lora_A.weight'))
  const rankOf = (parameter: string) => {
    const isDown = parameter.endsWith('down_proj')
    const [first] = downs
    const layer = first?.name.slice(0, first.name.lastIndexOf('.experts.')) ?? ''
    const isOfDown = (name: string) => /\.experts\.(?:down_proj|w2)\./.test(name)
    return downs
      .filter(({ name }) => name.startsWith(`${layer}.experts.`) && isOfDown(name) === isDown)
      .reduce((sum, { shape }) => sum + shape[1], 0)
  }
  const scale = scaleOf(config, EXPERT_PARAMETERS[0])
  const alphaOf = (rank: number) => scale * (config.use_rslora ? Math.sqrt(rank) : rank)
  const ranks = new Map<string, number>(EXPERT_PARAMETERS.map(name => [name, rankOf(name)]))
  const parameters = EXPERT_PARAMETERS.filter(name => (ranks.get(name) ?? 0) > 0)
  const modules = [...new Set(linears.map(name => name.split('.').at(-1) ?? ''))]
  const expertRank = config.lora_expert_rank ?? config.lora_rank
  for (const name of modules)
    if (linears.some(linear => matchesLinear(name, linear) && isFeedForward(linear)))
      ranks.set(name, expertRank)
  const others = [...ranks].filter(([, rank]) => rank > 0 && rank !== config.lora_rank)
  return {
    lora_target_modules: modules,
    target_parameters: parameters,
    rank_pattern: { ...config.rank_pattern, ...Object.fromEntries(others) },
    alpha_pattern: {
      ...config.alpha_pattern,
      ...Object.fromEntries(others.map(([name, rank]) => [name, alphaOf(rank)])),
    },
  }
}
