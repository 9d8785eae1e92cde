/**
 * One step over the rows of a plan: lays them out for the programs, runs them, and returns each sequence's
 * results.
 */
import type { BoundRun, DeviceBuffer, Engine } from '@cairn-tune/native'
import { partsOf, ropeTables } from '@cairn-tune/models'
import { byteLength } from '@cairn-tune/ops'
import { adoptAll, type PreparedProgram } from '@cairn-tune/program'
import { createCachePages } from './cache-pages.ts'
import { BLOCK } from './kv-blocks.ts'
import type { AdapterStacks } from './adapters.ts'
import type { OwnWeights } from './own-weights.ts'
import { createSampler, type HeadRow, type Sampler } from './sampler.ts'
import type { Chunk } from './scheduler.ts'
import type { Sequence, TokenReport } from './sequence.ts'
import type { ModelShape } from './model-shape.ts'
import {
  HEAD_ROWS,
  cacheName,
  createStepPrograms,
  type AdapterKind,
  type StepPrograms,
} from './step-programs.ts'

type StepResult = { sequence: Sequence; prompt: TokenReport[]; next: TokenReport | undefined }

type Pass = { sampler: Sampler; forward(rows: number, kind: AdapterKind): { size: number; run: BoundRun } }

export type Stepper = {
  /** Prepares the cache, concurrently with runs, for steps that use blocks below this number. */
  reach(blocks: number): void
  /** Resolves when the requested part of the cache is ready. */
  settled(): Promise<void>
  run(chunks: readonly Chunk[]): Promise<StepResult[]>
  /** Resolves when the step in flight is over. */
  idle(): Promise<void>
  /** Bytes of the cache. */
  readonly cacheBytes: number
}

/** Bytes of a cache block in all layers. */
export function blockBytes({ config, dtype }: Pick<ModelShape, 'config' | 'dtype'>): number {
  return partsOf(config).caches.reduce((sum, width) => sum + 2 * byteLength(dtype, [BLOCK, width]), 0)
}

/** −1 for the base. */
function slotOf({ adapter }: Sequence): number {
  if (adapter && adapter.slot === undefined) throw new Error(`adapter ${adapter.name} is not loaded`)
  return adapter?.slot ?? -1
}

const hasLengths = ({ adapter }: Sequence) => (adapter?.stored.magnitudes.length ?? 0) > 0

const kindOf = (chunks: readonly Chunk[]): AdapterKind =>
  chunks.some(({ sequence }) => hasLengths(sequence))
    ? 'dora'
    : chunks.some(({ sequence }) => sequence.adapter)
      ? 'lora'
      : 'none'

export function createStepper(
  engine: Engine,
  model: ModelShape,
  weights: ReadonlyMap<string, DeviceBuffer>,
  stacks: AdapterStacks | undefined,
): Stepper {
  const { config, maxRows, maxSequences, maxModelLen } = model
  const tableWidth = Math.ceil(maxModelLen / BLOCK)
  const ints = {
    ids: new Int32Array(maxRows),
    positions: new Int32Array(maxRows),
    slots: new Int32Array(maxRows),
    adapters: new Int32Array(maxRows),
    adapter_columns: new Int32Array(maxRows),
    tables: new Int32Array(maxSequences * tableWidth),
    spans: new Int32Array(maxSequences * 3),
  }
  const inputs = Object.fromEntries(
    Object.entries(ints).map(([name, values]) => [name, engine.allocate(values.byteLength)] as const),
  )
  /** Uploads the inputs of a step with `size` rows of `sequences` sequences. */
  function upload(size: number, sequences: number): void {
    const rows = { ids: size, positions: size, slots: size, adapters: size, adapter_columns: size }
    const used: Record<keyof typeof ints, number> = {
      ...rows,
      tables: sequences * tableWidth,
      spans: ints.spans.length,
    }
    for (const [name, buffer] of Object.entries(inputs)) {
      const key = name as keyof typeof ints
      engine.write(buffer, ints[key].subarray(0, used[key]))
    }
  }
  const caches = partsOf(config).caches.flatMap((width, l) =>
    (['k', 'v'] as const).map(
      side =>
        [
          cacheName(l, side),
          engine.allocate(byteLength(model.dtype, [model.blocks * BLOCK, width])),
        ] as const,
    ),
  )
  const pages = createCachePages(
    engine,
    caches.map(([, cache]) => cache),
    model.blocks,
  )
  const hidden = engine.allocate(byteLength(model.dtype, [maxRows, config.hidden_size]))
  const shared = {
    ...Object.fromEntries(weights),
    ...Object.fromEntries(caches),
    ...stacks?.buffers,
    ...inputs,
    ...adoptAll(engine, ropeTables(config, maxModelLen)),
    'out:hidden': hidden,
  }

  /** Programs by what adapters with weights of their own may change: number of tokens, and a tied head. */
  const programsByShape = new Map<string, StepPrograms>()
  function programsOf(shape: ModelShape): StepPrograms {
    const { vocab_size: vocabSize, tie_word_embeddings: isTied } = shape.config
    const key = `${vocabSize} ${isTied}`
    const made = programsByShape.get(key) ?? createStepPrograms(engine, shape)
    programsByShape.set(key, made)
    return made
  }

  /** Forward pass and sampler over the base's weights, or with those that an adapter replaces. */
  function createPass(shape: ModelShape, own: ReadonlyMap<string, DeviceBuffer>): Pass {
    const programs = programsOf(shape)
    const buffers = { ...shared, ...Object.fromEntries(own) }
    const runs = new Map<PreparedProgram, BoundRun>()
    return {
      sampler: createSampler(engine, programs, shape.config.vocab_size, { ...buffers, hidden }),
      forward(rows, kind) {
        const { size, prepared } = programs.forward(rows, kind)
        const run = runs.get(prepared) ?? prepared.bind(buffers)
        runs.set(prepared, run)
        return { size, run }
      },
    }
  }
  const basePass = createPass(model, new Map())
  const ownPasses = new WeakMap<OwnWeights, Pass>()
  function passOf(own: OwnWeights | undefined): Pass {
    if (!own) return basePass
    const pass = ownPasses.get(own) ?? createPass(own.shape, own.weights)
    ownPasses.set(own, pass)
    return pass
  }

  /** Fills the inputs of the forward pass. Returns the rows whose hidden states become tokens. */
  function layOut(chunks: readonly Chunk[], size: number): HeadRow[] {
    const wanted: HeadRow[] = []
    ints.ids.fill(0, 0, size)
    ints.positions.fill(0, 0, size)
    ints.slots.fill(-1, 0, size)
    ints.adapters.fill(-1, 0, size)
    ints.adapter_columns.fill(-1, 0, size)
    ints.spans.fill(0)
    let row = 0
    for (const [s, { sequence, count }] of chunks.entries()) {
      const { computed, blocks, ids, sampling, promptLength } = sequence
      const slot = slotOf(sequence)
      ints.tables.set(blocks, s * tableWidth)
      ints.spans.set([row, count, computed], s * 3)
      for (let i = 0; i < count; i++, row++) {
        const position = computed + i
        ints.ids[row] = ids[position] ?? 0
        ints.positions[row] = position
        ints.slots[row] = (blocks[Math.floor(position / BLOCK)] ?? 0) * BLOCK + (position % BLOCK)
        ints.adapters[row] = slot
        ints.adapter_columns[row] = hasLengths(sequence) ? slot : -1
        const isLast = position + 1 === ids.length
        if (isLast) wanted.push({ sequence, row, forced: -1 })
        else if (
          sampling.promptLogprobs &&
          position + 1 < promptLength &&
          position + 1 > sequence.prompt.length
        )
          wanted.push({ sequence, row, forced: ids[position + 1] ?? 0 })
      }
    }
    upload(size, chunks.length)
    return wanted
  }

  /** Rows of adapters with weights of their own run in passes of their own, one after another. */
  async function runStep(chunks: readonly Chunk[]): Promise<StepResult[]> {
    const groups = Map.groupBy(chunks, ({ sequence }) => sequence.adapter?.own)
    const results: StepResult[] = []
    for (const [own, group] of groups) results.push(...(await runPass(passOf(own), group)))
    return results
  }

  async function runPass({ forward, sampler }: Pass, chunks: readonly Chunk[]): Promise<StepResult[]> {
    const rows = chunks.reduce((sum, { count }) => sum + count, 0)
    const { size, run } = forward(rows, kindOf(chunks))
    const wanted = layOut(chunks, size)
    const parts = Array.from({ length: Math.ceil(wanted.length / HEAD_ROWS) }, (_, i) =>
      wanted.slice(i * HEAD_ROWS, (i + 1) * HEAD_ROWS),
    )
    // The engine runs programs in order, so queue the heads now instead of waiting for the layers to finish.
    const [layers, heads] = [run(), parts.map(sampler.sample)]
    await Promise.allSettled([layers, ...heads])
    await layers
    const reports = (await Promise.all(heads)).flat()
    const results = new Map(
      chunks.map(({ sequence }) => [sequence, { sequence, prompt: [], next: undefined } as StepResult]),
    )
    for (const [i, row] of wanted.entries()) {
      const [result, report] = [results.get(row.sequence), reports[i]]
      if (!result || !report) continue
      if (row.forced >= 0) result.prompt.push(report)
      else result.next = report
    }
    return [...results.values()]
  }

  let running: Promise<unknown> = Promise.resolve()
  return {
    reach: pages.reach,
    settled: pages.settled,
    run(chunks) {
      const results = runStep(chunks)
      running = results.catch(() => undefined)
      return results
    },
    idle: async () => void (await running),
    cacheBytes: blockBytes(model) * model.blocks,
  }
}
