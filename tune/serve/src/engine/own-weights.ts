/**
 * Weights that an adapter replaces: embeddings, head and norms that were trained whole or in part. Rows of
 * such an adapter run in a pass of their own, which reads these weights instead of the base's.
 */
import { partsOf } from '@cairn-tune/models'
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import {
  EMBEDDINGS,
  FLOAT_DTYPES,
  HEAD,
  InputError,
  UnsupportedError,
  changeMismatch,
  changedWeight,
  createConverter,
  decodeFloats,
  withTiedHead,
  type Checkpoint,
  type FloatDtype,
  type StoredAdapter,
} from '@cairn-tune/weights'
import type { ModelShape } from './model-shape.ts'

export type OwnWeights = {
  /** The model as programs of this adapter see it: its number of tokens, and whether its head is tied. */
  shape: ModelShape
  /** The replaced weights by name. A head of its own may be the base's buffer. */
  weights: ReadonlyMap<string, DeviceBuffer>
}

const bytesOf = ({ buffer, byteOffset, byteLength }: Float32Array) =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** Bytes that the replaced weights of an adapter may have in its file, beside its LoRA matrices. */
export function maxChangeBytes({ config }: Pick<ModelShape, 'config'>): number {
  const { weights, projectionOf } = partsOf(config)
  const others = weights.filter(({ name }) => !projectionOf.has(name))
  const numbers = others.reduce((sum, { shape }) => sum + shape.reduce((a, b) => a * b, 1), 0)
  // A tied base may get a head of its own, and tokens may have been added.
  return 4 * 1.25 * (numbers + config.vocab_size * config.hidden_size)
}

/** Builds the weights that an adapter replaces. Undefined if it has none. */
export function createOwnWeights(
  engine: Engine,
  checkpoint: Checkpoint,
  model: ModelShape,
  base: ReadonlyMap<string, DeviceBuffer>,
): (adapter: StoredAdapter) => Promise<OwnWeights | undefined> {
  const { config } = model
  const isTied = config.tie_word_embeddings
  const convert = createConverter(engine)
  const shapes = new Map(partsOf(config).weights.map(({ name, shape }) => [name, shape]))
  /** Name of the base's weight: the head of a tied base is its embeddings. */
  const sourceOf = (weight: string) => (weight === HEAD && isTied ? EMBEDDINGS : weight)
  const storage = (weight: string) => model.storage(sourceOf(weight))

  async function readBase(weight: string): Promise<{ shape: readonly number[]; values: Float32Array }> {
    const name = sourceOf(weight)
    const { shape, dtype } = checkpoint.tensors.get(name) ?? { shape: [], dtype: 'U8' as const }
    if (!FLOAT_DTYPES.some(one => one === dtype))
      throw new UnsupportedError(`${name} is ${dtype} in the base, so an adapter cannot change a part of it`)
    return { shape, values: decodeFloats(dtype as FloatDtype, await checkpoint.read(name)) }
  }

  return async adapter => {
    const changes = withTiedHead(adapter.changes, isTied)
    if (changes.length === 0) return undefined
    const weights = new Map<string, DeviceBuffer>()
    const rows = { [EMBEDDINGS]: config.vocab_size, [HEAD]: config.vocab_size }
    for (const change of changes) {
      const { weight } = change
      const known = shapes.get(sourceOf(weight))
      if (!known)
        throw new InputError(
          `${weight} is not a weight of the base; the adapter was trained on another base.`,
        )
      const mismatch = changeMismatch(change, known)
      if (mismatch !== undefined) throw new InputError(mismatch)
      const { shape, values } = await changedWeight(change, () => readBase(weight))
      if (values.some(value => !Number.isFinite(value)))
        throw new InputError(`${weight} of the adapter contains a non-finite number`)
      if (weight === EMBEDDINGS || weight === HEAD) rows[weight] = shape[0] ?? 0
      weights.set(weight, await convert(bytesOf(values), 'f32', storage(weight), shape))
    }
    const [known, predicted] = [rows[EMBEDDINGS], rows[HEAD]]
    if (known !== predicted)
      throw new InputError(`the adapter has embeddings of ${known} tokens, but a head of ${predicted}`)
    const splits = isTied && (weights.has(EMBEDDINGS) || weights.has(HEAD))
    const table = base.get(EMBEDDINGS)
    if (splits && !weights.has(HEAD) && table) weights.set(HEAD, table)
    return {
      shape: {
        ...model,
        storage,
        config: { ...config, vocab_size: known, tie_word_embeddings: isTied && !splits },
      },
      weights,
    }
  }
}
