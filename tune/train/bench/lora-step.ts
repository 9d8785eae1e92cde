/**
 * A LoRA micro-step of a recipe in the shape of Qwen3-0.6B with fewer layers and random weights, ready to run
 * again and again.
 */
import { byteLength, floatsOf, uniform, type OpName } from '@cairn-tune/ops'
import type { Engine } from '@cairn-tune/native'
import { packedPositions, ropeTables } from '@cairn-tune/models'
import { createRecorder, outputBinding, planMemory, prepare } from '@cairn-tune/program'
import { configOfShape, readConfig, type Recipe } from '@cairn-tune/train'
import { RANDOM, recordMicroStep } from '@cairn-tune/train/record-step'

export type LoraStep = {
  /**
   * Useful arithmetic of a step: the base's linears and the head forward and back, and half of the square in
   * attention; adapters do not count.
   */
  flops: number
  weightBytes: number
  arenaBytes: number
  run(): Promise<{ seconds: [op: OpName, seconds: number][]; loss: number }>
}

/** The vocabulary is as much smaller as the model has fewer layers, so that the head has its share. */
export async function prepareLoraStep(
  engine: Engine,
  { recipe, tokens, layers }: { recipe: Recipe; tokens: number; layers: number },
): Promise<LoraStep> {
  const whole = configOfShape('qwen3-0.6b')
  const model = configOfShape('qwen3-0.6b', {
    num_hidden_layers: layers,
    vocab_size: 64 * Math.round((whole.vocab_size * layers) / whole.num_hidden_layers / 64),
  })
  const config = readConfig({
    flags: [
      '--model=random',
      '--dataset=none',
      `--recipe=${recipe}`,
      '--per_device_train_batch_size=1',
      `--max_seq_length=${tokens}`,
    ],
  })
  const micro = recordMicroStep(model, config, 2, () => 'bf16')
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
  put('cuSeqlens', Int32Array.of(0, tokens))
  put('positions', packedPositions([0, tokens]))
  for (const [name, table] of Object.entries(ropeTables(model, tokens))) put(name, table)
  put(RANDOM, Int32Array.of(1, 0, 0))

  // Weights are quantised natively from small noise; norms are one.
  const noise = Float32Array.from(
    { length: 65_536 },
    (_, i) => (uniform({ seed: 1, step: 0, op: 0 }, i) - 0.5) * 0.06,
  )
  for (const { name, dtype, shape } of [
    ...micro.base,
    ...micro.trained.map(tensor => ({ ...tensor, dtype: 'f32' as const })),
  ]) {
    const count = shape.reduce((a, b) => a * b, 1)
    const values = Float32Array.from({ length: count }, (_, i) =>
      name.includes('norm') ? 1 : (noise[i % noise.length] ?? 0),
    )
    const g = createRecorder()
    const { y } = g.quantize({ x: g.input('x', 'f32', shape.length === 2 ? shape : [1, count]) }, { dtype })
    await prepare(engine, g.finish({ y })).run({
      x: engine.adopt(values),
      [outputBinding('y')]: buffers[name] ?? engine.allocate(0),
    })
  }

  const linearParameters = layers * (1024 * 2048 * 2 + 2 * 1024 * 1024 + 3 * 1024 * 3072)
  return {
    flops: tokens * (4 * (linearParameters + model.vocab_size * 1024) + layers * 3.5 * 2 * tokens * 2048),
    weightBytes: micro.base.reduce((sum, { dtype, shape }) => sum + byteLength(dtype, shape), 0),
    arenaBytes: prepared.plan.arenaBytes,
    async run() {
      const { seconds } = await prepared.run(buffers)
      const loss = buffers[outputBinding('loss')]
      return { seconds, loss: loss ? (floatsOf(await engine.read(loss))[0] ?? NaN) / tokens : NaN }
    },
  }
}
