/**
 * A LoRA micro-step of a recipe in the shape of a Qwen3 with random weights, by default Qwen3-0.6B with fewer
 * layers, ready to run repeatedly.
 */
import { byteLength, countElements, floatsOf, uniform, type OpName } from '@cairn-tune/ops'
import type { Engine } from '@cairn-tune/native'
import { COPY, MAGNITUDE, packedPositions, ropeTables } from '@cairn-tune/models'
import { createRecorder, outputBinding, planMemory, prepare } from '@cairn-tune/program'
import { configOfShape, readConfig, type MatmulName, type Recipe, type ShapeName } from '@cairn-tune/train'
import { RANDOM, gradientOf, recordMicroStep } from '@cairn-tune/train/record-step'

export type LoraStep = {
  /**
   * Useful arithmetic of a step: the base's linears and the head forward and backward, and half of the square
   * in attention. Adapters do not count.
   */
  flops: number
  /** The same for ops that do all of one part of it. */
  ofOps: Partial<Record<OpName, number>>
  weightBytes: number
  arenaBytes: number
  run(): Promise<{ seconds: [op: OpName, seconds: number][]; loss: number }>
  /** The sums of gradients so far, by tensor. */
  gradients(): Promise<Map<string, Float32Array>>
}

export type LoraStepOptions = {
  recipe: Recipe
  tokens: number
  layers: number
  shape?: ShapeName
  /** Rows of `tokens` / rows tokens, each one document. */ rows?: number
  /** Uses the whole vocabulary of the shape instead of a share. */ isWhole?: boolean
  /** Format of activations. Defaults to bf16. */ compute?: 'bf16' | 'f32'
  isDora?: boolean
  /** Arithmetic of the base's products. Defaults to that of the recipe. */ matmul?: MatmulName
  /** Further flags of the configuration. */ flags?: readonly string[]
}

/** The vocabulary is reduced in proportion to the layers, so that the head keeps its share of the time. */
export async function prepareLoraStep(
  engine: Engine,
  {
    recipe,
    tokens,
    layers,
    shape = 'qwen3-0.6b',
    rows = 1,
    isWhole = false,
    compute = 'bf16',
    isDora = false,
    matmul,
    flags = [],
  }: LoraStepOptions,
): Promise<LoraStep> {
  const whole = configOfShape(shape)
  const share = 64 * Math.round((whole.vocab_size * layers) / whole.num_hidden_layers / 64)
  const model = configOfShape(shape, {
    num_hidden_layers: layers,
    vocab_size: isWhole ? whole.vocab_size : share,
  })
  const config = readConfig({
    flags: [
      '--model=random',
      '--dataset=none',
      `--recipe=${recipe}`,
      `--compute_dtype=${compute}`,
      `--use_dora=${isDora}`,
      ...(matmul ? [`--matmul=${matmul}`] : []),
      `--per_device_train_batch_size=${rows}`,
      `--max_seq_length=${tokens / rows}`,
      ...flags,
    ],
  })
  const boundaries = Array.from({ length: rows + 1 }, (_, row) => (row * tokens) / rows)
  const micro = recordMicroStep(model, config, {
    boundaries: boundaries.length,
    plainDtype: () => 'bf16',
    logitRows: engine.logitRows,
    copiesAdapters: engine.convertsInLaunches,
    groupsProducts: engine.groupsProducts,
  })
  const prepared = prepare(engine, micro.program, planMemory(micro.program))
  const buffers = Object.fromEntries(
    prepared.bindings.map(name => [name, engine.allocate(prepared.bytesOf(name))]),
  )
  const put = (name: string, values: ArrayBufferView) => {
    const buffer = buffers[name]
    if (buffer) engine.write(buffer, values)
  }
  put(
    'ids',
    Int32Array.from({ length: tokens }, (_, t) => (t * 7919) % model.vocab_size),
  )
  put(
    'targets',
    Int32Array.from({ length: tokens }, (_, t) => (t * 104_729) % model.vocab_size),
  )
  put('cuSeqlens', Int32Array.from(boundaries))
  put('positions', packedPositions(boundaries))
  for (const [name, table] of Object.entries(ropeTables(model, tokens / rows))) put(name, table)
  put(RANDOM, Int32Array.of(1, 0, 0))

  // The engine quantises the weights from small noise, written once. Norms and magnitudes are one.
  const trained = micro.trained.map(({ name, shape }) =>
    micro.copies
      ? { name: COPY + name, shape, dtype: 'bf16' as const }
      : { name, shape, dtype: 'f32' as const },
  )
  const tensors = [...micro.base, ...trained].map(tensor => ({
    ...tensor,
    count: countElements(tensor.shape),
    isNorm: tensor.name.includes('norm') || tensor.name.endsWith(MAGNITUDE),
  }))
  const maxCount = (isNorm: boolean) =>
    Math.max(0, ...tensors.flatMap(one => (one.isNorm === isNorm ? one.count : [])))
  const sources = { noise: engine.allocate(4 * maxCount(false)), ones: engine.allocate(4 * maxCount(true)) }
  engine.write(sources.ones, new Float32Array(maxCount(true)).fill(1))
  const noise = Float32Array.from(
    { length: 65_536 },
    (_, i) => (uniform({ seed: 1, step: 0, op: 0 }, i) - 0.5) * 0.06,
  )
  for (let at = 0; at < maxCount(false); at += noise.length)
    engine.write(sources.noise, noise.subarray(0, Math.min(noise.length, maxCount(false) - at)), 4 * at)
  for (const { name, dtype, shape, count, isNorm } of tensors) {
    const g = createRecorder()
    const { y } = g.quantize({ x: g.input('x', 'f32', shape.length === 2 ? shape : [1, count]) }, { dtype })
    await prepare(engine, g.finish({ y })).run({
      x: engine.part(isNorm ? sources.ones : sources.noise, 0, 4 * count),
      [outputBinding('y')]: buffers[name] ?? engine.allocate(0),
    })
  }

  const { hidden_size: hidden, intermediate_size: ffn, head_dim: width } = model
  const [queries, keys] = [model.num_attention_heads * width, model.num_key_value_heads * width]
  const linearParameters = layers * hidden * (2 * queries + 2 * keys + 3 * ffn)
  /** Half of the square: two products forward, five backward. */
  const square = tokens * layers * 2 * (tokens / rows) * queries
  const ofOps = {
    attention: square,
    attention_grad: 2.5 * square,
    head_loss: tokens * 4 * model.vocab_size * hidden,
  }
  return {
    flops: tokens * 4 * linearParameters + ofOps.attention + ofOps.attention_grad + ofOps.head_loss,
    ofOps,
    weightBytes: micro.base.reduce((sum, { dtype, shape }) => sum + byteLength(dtype, shape), 0),
    arenaBytes: prepared.plan.arenaBytes,
    async run() {
      const { seconds } = await prepared.run(buffers)
      const loss = buffers[outputBinding('loss')]
      return { seconds, loss: loss ? (floatsOf(await engine.read(loss))[0] ?? NaN) / tokens : NaN }
    },
    async gradients() {
      const found = new Map<string, Float32Array>()
      for (const { name } of micro.trained) {
        const buffer = buffers[gradientOf(name)]
        if (buffer) found.set(name, floatsOf(await engine.read(buffer)))
      }
      return found
    },
  }
}
