/**
 * Changes that an adapter makes to weights of its base outside of the layers' linears: modules trained whole
 * (PEFT's `modules_to_save`, resized embeddings), trained rows (`trainable_token_indices`), and LoRA on
 * embeddings and head. Such a change replaces the weight for that adapter alone.
 */
import { InputError, UnsupportedError } from './errors.ts'
import { FLOAT_DTYPES, decodeFloats, type FloatDtype } from './float-values.ts'
import type { TensorEntry } from './safetensors-header.ts'
import { checkTensor } from './safetensors.ts'

export const EMBEDDINGS = 'model.embed_tokens.weight'
export const HEAD = 'lm_head.weight'

type Floats = { name: string; shape: readonly number[]; dtype: FloatDtype; bytes: Uint8Array }

/** At least one part. The parts apply in this order. */
export type WeightChange = {
  /** Name of the base's weight. */
  weight: string
  values?: Floats
  rows?: { ids: readonly number[]; values: Floats }
  /** b·a is added, scaled: a is (rank, columns), b is (rows, rank). Embeddings store both transposed. */
  product?: { a?: Floats; b?: Floats; isTransposed: boolean; scale: number }
}

export type ChangeConfig = {
  modules_to_save?: readonly string[] | null | undefined
  trainable_token_indices?: readonly number[] | Readonly<Record<string, readonly number[]>> | null | undefined
}

const isTableName = (weight: string) => weight === EMBEDDINGS || weight === HEAD

/** Whether a module is the named one: PEFT compares the ends of names. */
const endsWith = (module: string, name: string) => module === name || module.endsWith(`.${name}`)

/** Collects the changes of an adapter, tensor by tensor. */
export function createChanges(
  path: string,
  config: ChangeConfig,
  scaleOf: (linear: string) => number,
): {
  /** Takes a tensor that is part of a change. False for a tensor of another kind. */
  take: (name: string, entry: TensorEntry, read: () => Promise<Uint8Array>) => Promise<boolean>
  finish: () => WeightChange[]
} {
  const saved = config.modules_to_save ?? []
  const changes = new Map<string, WeightChange>()
  const changeOf = (module: string): WeightChange => {
    const weight = `${module}.weight`
    const change = changes.get(weight) ?? { weight }
    changes.set(weight, change)
    return change
  }

  function idsOf(module: string): readonly number[] {
    const { trainable_token_indices: given } = config
    const byModule = Array.isArray(given)
      ? given
      : Object.entries(given ?? {}).find(([name]) => endsWith(module, name))?.[1]
    // A head that is tied to the embeddings has the same rows.
    const ids = byModule ?? (module === 'lm_head' ? Object.values(given ?? {})[0] : undefined)
    if (ids === undefined)
      throw new InputError(`${path}: has trained tokens of ${module}, but no trainable_token_indices of it`)
    return ids as readonly number[]
  }

  /** The module and the part of its change that a tensor belongs to. */
  function placeOf(name: string): { module: string; part: 'rows' | 'values' | 'a' | 'b' } | undefined {
    const rows = /^(.+)\.token_adapter\.trainable_tokens_delta$/.exec(name)?.[1]
    if (rows !== undefined) return { module: rows, part: 'rows' }
    const [, embedding, side] = /^(.+)\.lora_embedding_([AB])$/.exec(name) ?? []
    if (embedding !== undefined) return { module: embedding, part: side === 'A' ? 'a' : 'b' }
    const head = /^lm_head\.lora_([AB])\.weight$/.exec(name)?.[1]
    if (head !== undefined) return { module: 'lm_head', part: head === 'A' ? 'a' : 'b' }
    if (name.startsWith('lm_head.lora_magnitude'))
      throw new UnsupportedError(`${path}: DoRA of lm_head is not supported; merge the adapter with PEFT`)
    if (/\.lora_[AB]\.weight$/.test(name)) return undefined
    const module = /^(.+?)(?:\.token_adapter)?(?:\.base_layer)?\.weight$/.exec(name)?.[1]
    if (module === undefined) return undefined
    // PEFT also saves embeddings that were resized or that have LoRA.
    return isTableName(`${module}.weight`) || saved.some(one => module.endsWith(one))
      ? { module, part: 'values' }
      : undefined
  }

  return {
    async take(name, entry, read) {
      const place = placeOf(name)
      if (!place) return false
      checkTensor(path, entry, FLOAT_DTYPES)
      const { module, part } = place
      const change = changeOf(module)
      const floats = { name, shape: entry.shape, dtype: entry.dtype as FloatDtype, bytes: await read() }
      if (part === 'values') change.values = floats
      else if (part === 'rows') {
        const ids = idsOf(module)
        if (floats.shape.length !== 2 || floats.shape[0] !== ids.length)
          throw new InputError(
            `${path}: ${JSON.stringify(name)} has shape (${floats.shape.join(', ')}), but ` +
              `trainable_token_indices names ${ids.length} tokens of ${module}`,
          )
        change.rows = { ids, values: floats }
      } else
        change.product = {
          ...change.product,
          [part]: floats,
          isTransposed: module !== 'lm_head',
          scale: scaleOf(module),
        }
      return true
    },
    finish() {
      for (const { weight, product } of changes.values())
        if (product && !(product.a && product.b))
          throw new InputError(`${path}: has one of the two LoRA matrices of ${weight}, but not the other`)
      const missing = saved.find(
        name => ![...changes.keys()].some(weight => weight.endsWith(`${name}.weight`)),
      )
      if (missing !== undefined && changes.size === 0)
        throw new InputError(
          `${path}: modules_to_save names ${missing}, but the file has no weight of it; ` +
            'save the adapter again',
        )
      return [...changes.values()]
    },
  }
}

type Matrix = { shape: readonly number[]; values: Float32Array }

const decoded = ({ shape, dtype, bytes }: Floats): Matrix => ({ shape, values: decodeFloats(dtype, bytes) })

/** Shape of a changed weight: that of its new values, or the base's. */
export const changedShape = ({ values }: WeightChange, base: readonly number[]): readonly number[] =>
  values?.shape ?? base

/** The reason why a change does not fit a base whose weight has this shape. Undefined if it does. */
export function changeMismatch(change: WeightChange, base: readonly number[]): string | undefined {
  const { weight, values, rows, product } = change
  const isTable = isTableName(weight)
  const fits = (shape: readonly number[]) =>
    shape.length === base.length && shape.every((size, i) => size === base[i] || (i === 0 && isTable))
  const wrong = (name: string, shape: readonly number[], wanted: string) =>
    `${name} has shape (${shape.join(', ')}), expected (${wanted}); the adapter was trained on another base.`
  if (values && !fits(values.shape)) return wrong(values.name, values.shape, base.join(', '))
  const [count = 0, columns = 0] = changedShape(change, base)
  if (rows) {
    if (rows.values.shape[1] !== columns) return wrong(rows.values.name, rows.values.shape, `n, ${columns}`)
    const stranger = rows.ids.find(id => id >= count)
    if (stranger !== undefined)
      return `${rows.values.name} changes token ${stranger}, but there are ${count}.`
  }
  const { a, b } = product ?? {}
  if (!product || !a || !b) return undefined
  const [rank, inputs, outputs, other] = product.isTransposed
    ? [b.shape[1], b.shape[0], a.shape[1], a.shape[0]]
    : [a.shape[0], a.shape[1], b.shape[0], b.shape[1]]
  if (
    rank !== other ||
    inputs !== columns ||
    outputs !== count ||
    a.shape.length !== 2 ||
    b.shape.length !== 2
  )
    return wrong(a.name, a.shape, product.isTransposed ? `r, ${count}` : `r, ${columns}`)
  return undefined
}

/** The changed weight in f32. `base` reads the base's own. */
export async function changedWeight(
  change: WeightChange,
  base: () => Promise<Matrix>,
): Promise<{ shape: readonly number[]; values: Float32Array }> {
  const { shape, values } = change.values ? decoded(change.values) : await base()
  const columns = shape[1] ?? 1
  const result = values.slice()
  if (change.rows) {
    const rows = decoded(change.rows.values).values
    for (const [i, id] of change.rows.ids.entries())
      result.set(rows.subarray(i * columns, (i + 1) * columns), id * columns)
  }
  const { product } = change
  if (product?.a && product.b) addProduct(result, columns, { ...product, a: product.a, b: product.b })
  return { shape, values: result }
}

/** Adds scale · b·a in f64, rounded once. */
function addProduct(
  values: Float32Array,
  columns: number,
  { a, b, isTransposed, scale }: { a: Floats; b: Floats; isTransposed: boolean; scale: number },
): void {
  const [first, second] = [decoded(a), decoded(b)]
  const rank = first.shape[0] ?? 0
  const rows = values.length / columns
  // Embeddings: a is (rank, rows) and b is (columns, rank).
  const left = (row: number, r: number) =>
    (isTransposed ? first.values[r * rows + row] : second.values[row * rank + r]) ?? 0
  const right = (r: number, column: number) =>
    (isTransposed ? second.values[column * rank + r] : first.values[r * columns + column]) ?? 0
  const factors = Float64Array.from({ length: rank * columns }, (_, i) =>
    right(Math.floor(i / columns), i % columns),
  )
  const sums = new Float64Array(columns)
  for (let row = 0; row < rows; row++) {
    sums.fill(0)
    for (let r = 0; r < rank; r++) {
      const factor = scale * left(row, r)
      if (factor === 0) continue
      for (let column = 0; column < columns; column++)
        sums[column] = (sums[column] ?? 0) + factor * (factors[r * columns + column] ?? 0)
    }
    for (let column = 0; column < columns; column++)
      values[row * columns + column] = (values[row * columns + column] ?? 0) + (sums[column] ?? 0)
  }
}

/**
 * The changes with those that a tied base implies: rows of its embeddings are rows of its head, too, unless
 * the head has changes of its own.
 */
export function withTiedHead(changes: readonly WeightChange[], isTied: boolean): WeightChange[] {
  const rows = changes.find(({ weight }) => weight === EMBEDDINGS)?.rows
  const hasHead = changes.some(({ weight }) => weight === HEAD)
  return isTied && rows && !hasHead ? [...changes, { weight: HEAD, rows }] : [...changes]
}
