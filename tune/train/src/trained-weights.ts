/**
 * Weights of the base that a run trains beside its adapter: modules as a whole (`modules_to_save`) and rows
 * of the embeddings (`trainable_token_indices`, `added_tokens`), in the files and with the meaning of PEFT.
 */
import { partsOf, type ModelConfig } from '@cairn-tune/models'
import { EMBEDDINGS, HEAD, InputError } from '@cairn-tune/weights'
import type { TrainConfig } from './config.ts'
import { hasReference } from './methods.ts'

export type TrainedWeights = {
  /** Names of weights that are trained whole. */
  whole: ReadonlySet<string>
  /** Trained rows of other weights, by name. */
  rows: ReadonlyMap<string, readonly number[]>
}

/** Name of the trained rows of a weight, in a run and in an adapter. */
export const rowsName = (weight: string): string =>
  weight.replace(/\.weight$/, '.token_adapter.trainable_tokens_delta')

const moduleOf = (weight: string) => weight.replace(/\.weight$/, '')

/** Modules that can be trained whole: every weight outside of the projections, which adapters change. */
const savable = (model: ModelConfig): string[] => {
  const { weights, projectionOf } = partsOf(model)
  return weights.map(({ name }) => name).filter(name => name.endsWith('.weight') && !projectionOf.has(name))
}

/**
 * Whether a weight belongs to a module of this name: PEFT compares the ends of names, so `norm` is every
 * norm.
 */
const isModule = (weight: string, module: string) => moduleOf(weight).endsWith(module)

const lastPart = (weight: string) => moduleOf(weight).split('.').at(-1) ?? ''

/** What a run trains of the base. The configuration was checked. */
export function trainedWeightsOf(config: TrainConfig, model: ModelConfig): TrainedWeights {
  const { modules_to_save: modules = [], trainable_token_indices: ids = [], lora } = config
  if (!lora) return { whole: new Set(), rows: new Map() }
  const whole = savable(model).filter(
    name =>
      modules.some(module => isModule(name, module)) ||
      // One matrix is both.
      (model.tie_word_embeddings && name === EMBEDDINGS && modules.includes('lm_head')),
  )
  // An added token needs a row of the head, too, or it could not be generated.
  const tables =
    config.added_tokens === undefined || model.tie_word_embeddings ? [EMBEDDINGS] : [EMBEDDINGS, HEAD]
  const rows = ids.length === 0 ? [] : tables.filter(name => !whole.includes(name))
  return { whole: new Set(whole), rows: new Map(rows.map(name => [name, ids])) }
}

/** Rejects keys that the model or the method does not support. */
export function checkTrainedWeights(config: TrainConfig, model: ModelConfig): void {
  const { modules_to_save: modules, trainable_token_indices: ids, added_tokens: added, method } = config
  const key =
    modules !== undefined
      ? 'modules_to_save'
      : added !== undefined
        ? 'added_tokens'
        : ids !== undefined
          ? 'trainable_token_indices'
          : undefined
  if (key === undefined) return
  if (!config.lora)
    throw new InputError(`${key}: lora: false already trains every weight of the base; remove it`)
  if (config.offload === 'disk')
    throw new InputError(`${key}: not available with offload: disk, which reads the base as it is`)
  if (hasReference(method))
    throw new InputError(
      `${key}: not available with method ${method}, whose reference is the unchanged base; use sft or orpo`,
    )
  const names = savable(model)
  const known = [...new Set([...names.map(lastPart), 'lm_head'])]
  for (const module of modules ?? []) {
    if (partsOf(model).modules.includes(module))
      throw new InputError(
        `modules_to_save: ${module} is a projection, which gets an adapter; name it in lora_target_modules`,
      )
    if (module !== 'lm_head' && !names.some(name => isModule(name, module)))
      throw new InputError(
        `modules_to_save: ${config.model} is a ${model.model_type} model without ${module}; it has ` +
          known.join(', '),
      )
  }
  if (ids !== undefined && added === undefined && modules?.includes('embed_tokens'))
    throw new InputError(
      'trainable_token_indices: modules_to_save already trains all rows of embed_tokens; remove one of them',
    )
  const stranger = ids?.find(id => id >= model.vocab_size)
  if (stranger !== undefined)
    throw new InputError(
      `trainable_token_indices: ${config.model} has ${model.vocab_size} tokens, and no token ${stranger}`,
    )
  if (ids !== undefined && new Set(ids).size !== ids.length)
    throw new InputError('trainable_token_indices: a token is named twice')
}

/** Keys of adapter_config.json for these weights. */
export function savedKeys(
  { modules_to_save: modules = [] }: TrainConfig,
  { whole, rows }: TrainedWeights,
  isTied: boolean,
  isResized: boolean,
): {
  modules_to_save?: readonly string[]
  trainable_token_indices?: readonly number[] | Record<string, readonly number[]>
  ensure_weight_tying?: boolean
} {
  const tables = [...rows]
  const [first] = tables
  return {
    ...(modules.length > 0
      ? {
          modules_to_save:
            isTied && whole.has(EMBEDDINGS) ? [...new Set([...modules, 'embed_tokens', 'lm_head'])] : modules,
        }
      : {}),
    // Resized embeddings are saved whole, without a key, as PEFT does.
    ...(first && !isResized
      ? {
          trainable_token_indices:
            tables.length === 1 && first[0] === EMBEDDINGS
              ? first[1]
              : Object.fromEntries(tables.map(([name, ids]) => [lastPart(name), ids])),
        }
      : {}),
    ...(isTied && (whole.has(EMBEDDINGS) || rows.has(EMBEDDINGS)) ? { ensure_weight_tying: true } : {}),
  }
}
