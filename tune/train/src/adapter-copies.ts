/**
 * bf16 copies of adapters: where they lie, their memory, and the program that renews them after an update.
 * All adapters are in one buffer, and so are their copies, the sums of their gradients and each moment, so
 * one launch renews, clears or updates all of them.
 */
import type { DeviceBuffer, Engine } from '@cairn-tune/native'
import { COPY } from '@cairn-tune/models'
import { countElements, type Shape } from '@cairn-tune/ops'
import { adoptAll, createRecorder, outputBinding, prepare, type Buffers } from '@cairn-tune/program'

export type AdapterCopies = {
  /** Numbers [from, to) of each adapter, in both buffers. */
  spans: { name: string; from: number; to: number }[]
  /** Numbers of a buffer, with the gaps between adapters. */
  count: number
}

/** An adapter starts at a multiple of this many numbers, so that kernels can read its copy in place. */
const SPAN = 256

export function layOut(adapters: readonly { name: string; shape: Shape }[]): AdapterCopies {
  let count = 0
  const spans = adapters.map(({ name, shape }) => {
    const from = count
    const to = from + countElements(shape)
    count = SPAN * Math.ceil(to / SPAN)
    return { name, from, to }
  })
  return { spans, count }
}

/** Name of the buffer of all adapters. Those of sums and moments have the prefixes of a tensor's. */
export const ADAPTERS = 'adapters'

/** Input with the numbers of `spans`, which the norm of the gradients reads. */
export const SPANS = 'adapters:spans'

/**
 * Whether a norm over the tensors may read the adapters as parts of one buffer. They must come first, because
 * sums are added in order of the tensors.
 */
export const comeFirst = (copies: AdapterCopies, tensors: readonly { name: string }[]): boolean =>
  copies.count <= MAX_I32 && copies.spans.every(({ name }, i) => tensors[i]?.name === name)

const MAX_I32 = 2 ** 31 - 1

/** Bytes of the copies, and of the gaps between adapters in `buffers` buffers of f32. */
export function copyBytes(layout: AdapterCopies | undefined, buffers: number): number {
  if (!layout) return 0
  const numbers = layout.spans.reduce((sum, { from, to }) => sum + to - from, 0)
  return layout.count * 2 + buffers * (layout.count - numbers) * 4
}

type CopiedAdapters = {
  /** Parts of the f32 buffers by the name of their tensor, such as `m:<adapter>`. */
  parts: ReadonlyMap<string, DeviceBuffer>
  /** The f32 buffers, by name, and the copies, by the names of the inputs that read them. */
  buffers: Buffers
  /** Rounds all adapters to their copies. */
  renew(): Promise<void>
}

/** `prefixes`: of the names of tensors that have a buffer for all adapters; '' is the adapters themselves. */
export function allocateCopies(
  engine: Engine,
  { spans, count }: AdapterCopies,
  prefixes: readonly string[],
): CopiedAdapters {
  const wholes = new Map(prefixes.map(prefix => [prefix, engine.allocate(count * 4)]))
  const copies = engine.allocate(count * 2)
  const table = Int32Array.from(spans.flatMap(({ from, to }) => [from, to]))
  const g = createRecorder()
  const { y } = g.cast({ x: g.input(ADAPTERS, 'f32', [count]) }, { dtype: 'bf16' })
  const rounding = prepare(engine, g.finish({ copies: y }))
  const buffers = {
    ...Object.fromEntries([...wholes].map(([prefix, whole]) => [prefix + ADAPTERS, whole])),
    ...adoptAll(engine, { [SPANS]: table }),
    ...Object.fromEntries(
      spans.map(({ name, from, to }) => [COPY + name, engine.part(copies, from * 2, to * 2)]),
    ),
  }
  return {
    parts: new Map(
      [...wholes].flatMap(([prefix, whole]) =>
        spans.map(({ name, from, to }) => [prefix + name, engine.part(whole, from * 4, to * 4)] as const),
      ),
    ),
    buffers,
    async renew() {
      await rounding.run({ ...buffers, [outputBinding('copies')]: copies })
    },
  }
}
