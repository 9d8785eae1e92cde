/** A model ready to generate: tokenizer, weights, cache, adapters and the loop over them. */
import { basename, isAbsolute, join } from 'node:path'
import { partsOf, projectionLayer, readModelConfig, type ModelConfig } from '@cairn-tune/models'
import type { Arithmetic, Dtype } from '@cairn-tune/ops'
import {
  InputError,
  layoutOf,
  storedName,
  loadBase,
  loadTokenizer,
  openMappedCheckpoint,
  readModelText,
  resolveRepo,
  type BaseWeight,
  type Checkpoint,
  type ModelTokenizer,
  type StoredAdapter,
} from '@cairn-tune/weights'
import { z } from 'zod'
import { createAdapterStacks, type AdapterStacks, type AdapterTarget } from './engine/adapters.ts'
import { createDora } from './engine/dora.ts'
import { createGenerator, type Generator } from './engine/generator.ts'
import { countBlocks } from './engine/count-blocks.ts'
import { BLOCK, createKvBlocks, type KvBlocks } from './engine/kv-blocks.ts'
import { createScheduler, type Scheduler } from './engine/scheduler.ts'
import { createOwnWeights, maxChangeBytes, type OwnWeights } from './engine/own-weights.ts'
import type { ModelShape } from './engine/model-shape.ts'
import { openDevice } from './engine/open-device.ts'
import { blockBytes, createStepper } from './engine/step.ts'
import { harmonyOf, type Harmony } from './harmony/markers.ts'
import { createForms, type Forms } from './grammar/forms.ts'
import { createTexts, type Texts } from './texts.ts'
import { readTokenizerInfo } from './tokenizer-info.ts'
import { CACHE_SHARE, DEFAULTS, QUANTIZATIONS, type ServeOptions } from './serve-options.ts'

/** Default sampling from the model's generation_config.json. */
export type SamplingDefaults = {
  temperature: number
  top_p: number
  top_k: number
  min_p: number
  repetition_penalty: number
}

export type ServedModel = {
  readonly directory: string
  /** Origin of the model as shown to clients: a hub name, or the last part of a path. */
  readonly root: string
  /** Names of the base in requests. Replies use the first. */
  readonly names: readonly string[]
  readonly tokenizer: ModelTokenizer
  readonly texts: Texts
  /** The template that replaces the model's own, if given. */
  readonly chatTemplate: string | undefined
  /** The reply of /tokenizer_info. */
  readonly tokenizerInfo: Readonly<Record<string, unknown>>
  /** A longer prompt has more tokens than the model accepts in any tokenisation. */
  readonly maxPromptBytes: number
  /** Set if the model answers in the harmony format. */
  readonly harmony: Harmony | undefined
  readonly vocabSize: number
  readonly maxModelLen: number
  readonly endTokens: readonly number[]
  readonly defaults: SamplingDefaults
  /** Undefined if the text of a token depends on its neighbours. */
  readonly forms: Forms | undefined
  readonly targets: readonly AdapterTarget[]
  readonly stacks: AdapterStacks | undefined
  /** The weights that an adapter replaces. Throws an InputError for those that do not fit. */
  readonly ownWeightsOf: (adapter: StoredAdapter) => Promise<OwnWeights | undefined>
  /** Maximum bytes of replaced weights in an adapter's file. */
  readonly maxChangeBytes: number
  /** Maximum adapters in memory, with or without a slot. */
  readonly maxAdapters: number
  readonly generator: Generator
  readonly scheduler: Scheduler
  readonly blocks: KvBlocks
  close(): Promise<void>
}

const generationConfig = z.looseObject({
  eos_token_id: z.union([z.int(), z.array(z.int())]).nullish(),
  temperature: z.number().nullish(),
  top_p: z.number().nullish(),
  top_k: z.int().nullish(),
  min_p: z.number().nullish(),
  repetition_penalty: z.number().nullish(),
  do_sample: z.boolean().nullish(),
})

async function readGenerationConfig(directory: string): Promise<z.infer<typeof generationConfig>> {
  const path = join(directory, 'generation_config.json')
  const text = await readModelText(directory, 'generation_config.json')
  const parsed = generationConfig.safeParse(JSON.parse(text ?? '{}'))
  if (!parsed.success) throw new InputError(`${path}: ${z.prettifyError(parsed.error)}`)
  return parsed.data
}

/** Default number of adapters in memory per slot. */
const MORE_ADAPTERS = 8

/** Maximum threads of an engine. */
const MAX_THREADS = 1024

/** Whether a checkpoint was saved in f32. Weights decoded from fewer bits do not count. */
function isF32(checkpoint: Checkpoint): boolean {
  const entry = checkpoint.tensors.get('model.embed_tokens.weight')
  return entry?.dtype === 'F32' && entry.decodedFrom === undefined
}

/** Whether a weight is the right operand of a matmul and its rows are whole words of two numbers. */
function isMultiplied(config: ModelConfig, name: string): boolean {
  const { projectionOf, head } = partsOf(config)
  const columns = name === head ? config.hidden_size : projectionOf.get(name)?.inputs
  return columns !== undefined && columns % 2 === 0
}

/** The grammar engine for a tokenizer. Undefined if the text of a token depends on its neighbours. */
export function formsOf(
  { pieceOf, vocabSize: known }: ModelTokenizer,
  vocabSize: number,
  endTokens: readonly number[],
): Forms | undefined {
  if (!pieceOf) return undefined
  const bytesOf = (token: number) => {
    const piece = token < known ? pieceOf(token, { skipSpecialTokens: true }) : ''
    return typeof piece === 'string' ? new TextEncoder().encode(piece) : piece
  }
  return createForms(bytesOf, vocabSize, endTokens)
}

const listWanted = ({ config, storage }: ModelShape): BaseWeight[] =>
  partsOf(config).weights.map(({ name, shape }) => ({ name, dtype: storage(name), shape }))

/** Loads a model and starts its engine. */
export async function loadServedModel(options: ServeOptions): Promise<ServedModel> {
  const directory = await resolveRepo('model', options.model, { env: options.env ?? process.env })
  const [config, tokenizer, generation, tokenizerInfo] = await Promise.all([
    readModelConfig(directory),
    loadTokenizer(directory, options.chatTemplate),
    readGenerationConfig(directory),
    readTokenizerInfo(directory, options.chatTemplate),
  ])
  if (tokenizer.vocabSize > config.vocab_size)
    throw new InputError(
      `${directory}: the tokenizer has ${tokenizer.vocabSize} tokens, but the model has ${config.vocab_size}`,
    )
  const { maxLoras = DEFAULTS.maxLoras, maxCpuLoras = maxLoras } = options
  if (maxCpuLoras < maxLoras)
    throw new InputError(`--max-cpu-loras ${maxCpuLoras} must be at least --max-loras, which is ${maxLoras}`)
  if (options.threads !== undefined && options.threads > MAX_THREADS)
    throw new InputError(`--threads must be between 1 and ${MAX_THREADS}, got ${options.threads}`)
  const device = await openDevice(options)
  const checkpoint = await openMappedCheckpoint(directory)
  const maxModelLen = options.maxModelLen ?? config.max_position_embeddings
  if (maxModelLen > config.max_position_embeddings)
    throw new InputError(
      `--max-model-len ${maxModelLen} exceeds the ${config.max_position_embeddings} positions of ` +
        `${directory}`,
    )
  const dtype: Arithmetic =
    options.dtype === 'f32' || options.dtype === 'bf16' ? options.dtype : isF32(checkpoint) ? 'f32' : 'bf16'
  const projections: Dtype = options.quantization ? QUANTIZATIONS[options.quantization] : dtype
  const { skipQuantFirstLayers: first = 0, skipQuantLastLayers: last = 0 } = options
  if (first + last > config.num_hidden_layers)
    throw new InputError(
      '--skip-quant-first-layers and --skip-quant-last-layers: ' +
        `${first + last} layers would stay unchanged, but ${directory} has only ` +
        `${config.num_hidden_layers}`,
    )
  const isQuantizedLayer = (layer: number | undefined) =>
    layer !== undefined && layer >= first && layer < config.num_hidden_layers - last
  const maxSequences = options.maxSequences ?? DEFAULTS.maxSequences
  const shape = {
    config,
    dtype,
    maxModelLen,
    maxSequences,
    maxRows: Math.max(maxSequences, options.maxBatchedTokens ?? DEFAULTS.maxBatchedTokens),
  }
  const perBlock = blockBytes(shape)
  const enough = maxSequences * Math.ceil((maxModelLen + 1) / BLOCK) * perBlock
  const blockCount = countBlocks(
    options.kvCacheBytes ??
      Math.min(
        enough,
        Math.max(device.memoryBytes * CACHE_SHARE, Math.ceil((maxModelLen + 1) / BLOCK) * perBlock),
      ),
    perBlock,
    maxModelLen,
  )
  const model: ModelShape = {
    ...shape,
    // Quantised weights keep their format whatever the request. Matrices for matmuls are laid out as the
    // processor's kernels read them.
    storage: name => {
      const wanted =
        layoutOf(checkpoint, storedName(checkpoint, name)) ??
        (isQuantizedLayer(projectionLayer(config, name)) ? projections : dtype)
      return wanted === 'bf16' && !device.isCard && isMultiplied(config, name) ? 'bf16_vnni' : wanted
    },
    blocks: blockCount,
    adapters: options.enableLora
      ? { slots: options.maxLoras ?? DEFAULTS.maxLoras, maxRank: options.maxLoraRank ?? DEFAULTS.maxLoraRank }
      : undefined,
  }
  const engine = await device.openEngine()
  try {
    const targets = partsOf(config).projections
    const weights = await loadBase(engine, checkpoint, listWanted(model), { copies: true })
    const factorsOf = createDora(engine, weights, model.storage)
    const slots = model.adapters && { ...model.adapters, dtype, factorsOf }
    const stacks = slots && createAdapterStacks(engine, targets, slots)
    const blocks = createKvBlocks(blockCount)
    const scheduler = createScheduler(blocks, {
      maxRows: model.maxRows,
      maxSequences,
      reusesPrefixes: options.prefixCaching ?? true,
    })
    const stepper = createStepper(engine, model, weights, stacks)
    await stepper.settled()
    const generator = createGenerator({ stepper, scheduler, blocks, stacks })
    const harmony = harmonyOf(tokenizer)
    const ends = [
      ...config.eos_token_ids,
      ...[generation.eos_token_id ?? []].flat(),
      ...(tokenizer.eosTokenId === undefined ? [] : [tokenizer.eosTokenId]),
      ...(harmony?.endTokens ?? []),
    ]
    const endTokens = [...new Set(ends)]
    const texts = createTexts(tokenizer, { directory, chatTemplate: options.chatTemplate })
    return {
      directory,
      root: isAbsolute(options.model) ? basename(options.model) : options.model,
      names: options.servedModelNames ?? [options.model],
      tokenizer,
      texts,
      chatTemplate: options.chatTemplate,
      tokenizerInfo,
      maxPromptBytes: maxModelLen * tokenizer.maxTokenBytes,
      harmony,
      vocabSize: config.vocab_size,
      maxModelLen,
      endTokens,
      forms: formsOf(tokenizer, config.vocab_size, endTokens),
      defaults: {
        temperature: generation.do_sample === false ? 0 : (generation.temperature ?? 1),
        top_p: generation.top_p ?? 1,
        top_k: generation.top_k ?? 0,
        min_p: generation.min_p ?? 0,
        repetition_penalty: generation.repetition_penalty ?? 1,
      },
      targets,
      stacks,
      ownWeightsOf: createOwnWeights(engine, checkpoint, model, weights),
      maxChangeBytes: maxChangeBytes(model),
      maxAdapters: options.maxCpuLoras ?? MORE_ADAPTERS * (options.maxLoras ?? DEFAULTS.maxLoras),
      generator,
      scheduler,
      blocks,
      async close() {
        await generator.close()
        await texts.close()
        engine.close()
        await checkpoint.close()
      },
    }
  } catch (error) {
    engine.close()
    throw error
  }
}
