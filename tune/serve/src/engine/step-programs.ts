/**
 * The programs that a server runs, recorded once for each batch size: rows through the layers, and hidden
 * states to tokens.
 */
import type { Engine } from '@cairn-tune/native'
import {
  attentionAttrs,
  recordLogits,
  matmulOf,
  recordHidden,
  ropeInputs,
  type ExpertRows,
  type Linear,
} from '@cairn-tune/models'
import type { Shape } from '@cairn-tune/ops'
import {
  createRecorder,
  prepare,
  type PreparedProgram,
  type Program,
  type Recorder,
  type Tensor,
} from '@cairn-tune/program'
import { stackName } from './adapters.ts'
import { BLOCK } from './kv-blocks.ts'
import type { ModelShape } from './model-shape.ts'

/**
 * Sizes that programs are recorded for. A batch uses the next larger one; the extra rows belong to no span.
 */
const SMALL_SIZES = Array.from({ length: 64 }, (_, i) => i + 1).filter(rows => rows <= 16 || rows % 2 === 0)
const ROW_SIZES: readonly number[] = [...SMALL_SIZES, 96, 128, 192, 256, 384, 512, 768, 1024, 2048]
export const HEAD_ROWS = 64
const MASK_SIZES = [1, 8, 64] as const
const EDIT_SIZES = [1, 64, 1024, 16_384, 262_144, 4_194_304] as const
/** Maximum number of likely tokens that a caller may request, plus the one more that a reply names. */
export const MAX_LOGPROBS = 20

/** Contents of a batch's adapters: none, pairs of matrices, or pairs with row lengths. */
export type AdapterKind = 'none' | 'lora' | 'dora'

const roundUp = (sizes: readonly number[], wanted: number): number =>
  sizes.find(size => size >= wanted) ?? wanted

export const cacheName = (layer: number, side: 'k' | 'v') => `cache.${layer}.${side}`

function createWeights(g: Recorder, storage: ModelShape['storage']) {
  const known = new Map<string, Tensor>()
  return (name: string, shape: Shape) => {
    const tensor = known.get(name) ?? g.input(name, storage(name), shape)
    known.set(name, tensor)
    return tensor
  }
}

/**
 * Records rows of many sequences through all layers. Writes their keys and values to the cache, and hidden
 * states to `out:hidden`.
 */
function recordForward(model: ModelShape, rows: number, kind: AdapterKind): Program {
  const { config, dtype, maxModelLen, maxSequences, blocks } = model
  const g = createRecorder()
  const weights = createWeights(g, model.storage)
  const ints = (name: string, ...shape: number[]) => g.input(name, 'i32', shape)
  const [ids, positions, slots] = [ints('ids', rows), ints('positions', rows), ints('slots', rows)]
  const [tables, spans] = [
    ints('tables', maxSequences, Math.ceil(maxModelLen / BLOCK)),
    ints('spans', maxSequences, 3),
  ]
  const attend = (layer: number, q: Tensor, k: Tensor, v: Tensor, sinks?: Tensor) => {
    const cache = (side: 'k' | 'v') =>
      g.input(cacheName(layer, side), dtype, [blocks * BLOCK, k.shape[1] ?? 0])
    const { keys, values } = g.paged_write(
      { k_cache: cache('k'), v_cache: cache('v'), k, v, slots },
      { block: BLOCK, dtype },
    )
    return g.paged_attention(
      { q, k: keys, v: values, tables, spans, sinks },
      { ...attentionAttrs(config, layer), block: BLOCK, dtype },
    ).y
  }
  const hidden = recordHidden(
    { g, config, dtype, weights, linear: linearOf(g, model, weights, rows, kind) },
    { ids, positions, ropes: ropeInputs(g, config, maxModelLen) },
    attend,
  )
  return g.finish({ hidden })
}

function linearOf(
  g: Recorder,
  { dtype, adapters }: ModelShape,
  weights: ReturnType<typeof createWeights>,
  rows: number,
  kind: AdapterKind,
): Linear {
  const attrs = { alpha: 1, arithmetic: dtype, dtype }
  const plain: Linear = (name, x, n, { experts, ...added } = {}) => {
    const count = experts ? experts.ends.shape : []
    const b = weights(`${name}.weight`, [...count, n, x.shape[1] ?? 0])
    return matmulOf(g, experts)({ a: x, b, ...added }, attrs)
  }
  if (kind === 'none' || !adapters) return plain
  const { slots, maxRank } = adapters
  const ids = g.input('adapters', 'i32', [rows])
  const columns = kind === 'dora' ? g.input('adapter_columns', 'i32', [rows]) : undefined
  const known = new Map<Tensor, Tensor>()
  /** Indices of the pairs in an expert's stacks that its rows read. */
  function pairsOf({ ends, tokens }: ExpertRows): Tensor {
    const pairs = known.get(ends) ?? g.expert_adapters({ adapters: ids, tokens, ends }, { slots }).y
    known.set(ends, pairs)
    return pairs
  }
  // Adapter terms join the sums of the base before rounding, as in training.
  return (name, x, n, { bias, addend, experts } = {}) => {
    const count = (experts?.ends.shape[0] ?? 1) * slots
    const stacks = {
      a: g.input(stackName(name, 'a'), dtype, [count, maxRank, x.shape[1] ?? 0]),
      b: g.input(stackName(name, 'b'), dtype, [count, maxRank, n]),
      ranks: g.input(stackName(name, 'ranks'), 'f32', [count, 2]),
    }
    const which = experts ? pairsOf(experts) : ids
    const isScaled = columns && !experts
    const delta = g.lora_delta(
      { x, ...stacks, adapters: which, addend: isScaled ? undefined : addend },
      { arithmetic: dtype },
    ).y
    if (!isScaled) return plain(name, x, n, { bias, addend: delta, experts })
    const factors = g.input(stackName(name, 'factors'), 'f32', [slots, n])
    const b = weights(`${name}.weight`, [n, x.shape[1] ?? 0])
    const y = g.matmul_nt({ a: x, b }, { ...attrs, dtype: 'f32' }).y
    return g.adapter_columns({ x: y, delta, factors, adapters: columns, bias, addend }, { dtype }).y
  }
}

/** Records the step from hidden states to tokens, drawn or forced, with their log-probabilities. */
function recordHead(
  { config, dtype, maxRows, storage }: ModelShape,
  { rows, edits, masks, top }: HeadSizes,
): Program {
  const g = createRecorder()
  const x = g.gather_rows(
    { x: g.input('hidden', dtype, [maxRows, config.hidden_size]), rows: g.input('rows', 'i32', [rows]) },
    {},
  ).y
  const logits = recordLogits({ g, config, dtype, weights: createWeights(g, storage) }, x)
  const ints = (name: string, ...shape: number[]) => g.input(name, 'i32', shape)
  const floats = (name: string, ...shape: number[]) => g.input(name, 'f32', shape)
  return g.finish(
    g.sample(
      {
        logits,
        forced: ints('forced', rows),
        choice: floats('choice', rows, 3),
        draw: ints('draw', rows, 4),
        edits: ints('edits', edits, 2),
        edit_by: floats('edit_by', edits, 2),
        masked: ints('masked', rows),
        mask: ints('mask', masks, Math.ceil(config.vocab_size / 32)),
      },
      { top },
    ),
  )
}

/** Number of rows, logit edits, token masks and listed likely tokens of a head program. */
export type HeadSizes = { rows: number; edits: number; masks: number; top: number }

export type StepPrograms = {
  forward(rows: number, kind: AdapterKind): { size: number; prepared: PreparedProgram }
  /** A program for at least these sizes. */
  head(minimum: HeadSizes): { sizes: HeadSizes; prepared: PreparedProgram }
}

export function createStepPrograms(engine: Engine, model: ModelShape): StepPrograms {
  const known = new Map<string, PreparedProgram>()
  const get = (key: string, record: () => Program): PreparedProgram => {
    const made = known.get(key) ?? prepare(engine, record())
    known.set(key, made)
    return made
  }
  return {
    forward(rows, kind) {
      const size = Math.min(model.maxRows, roundUp(ROW_SIZES, rows))
      return {
        size,
        prepared: get(`forward ${size} ${kind}`, () => recordForward(model, size, kind)),
      }
    },
    head({ rows, edits, masks, top }) {
      const sizes = {
        rows: Math.min(HEAD_ROWS, roundUp(ROW_SIZES, rows)),
        edits: roundUp(EDIT_SIZES, edits),
        masks: roundUp(MASK_SIZES, masks),
        top: Math.min(model.config.vocab_size, top > 1 ? MAX_LOGPROBS : 1),
      }
      return {
        sizes,
        prepared: get(`head ${Object.values(sizes).join(' ')}`, () => recordHead(model, sizes)),
      }
    },
  }
}
