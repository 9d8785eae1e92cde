/**
 * One LoRA step (forward, loss, backward) of a Qwen3-0.6B-shaped model with fewer layers and random weights: tokens a second, the share of each op,
 * and useful arithmetic against the register peak, which is measured before and after each step: over the wall clock, and over the processor time that
 * the threads had, which tells the same on a machine that does other work too. Arguments: threads (1), tokens (2048), layers (2), storage of the base
 * (bf16), repeats (3). The vocabulary is as much smaller as the model has fewer layers than 28, so that the head has its share.
 */
import { DTYPES, byteLength, uniform, type Dtype } from '@cairn-tune/ops'
import { createEngine } from '@cairn-tune/native'
import { LORA_MODULES, createLinear, packedPositions, recordQwen3, ropeTable } from '@cairn-tune/models'
import { ONE, createRecorder, differentiate, planMemory, prepare, type Tensor } from '@cairn-tune/program'

const [threads = 1, T = 2048, layers = 2] = process.argv.slice(2, 5).map(Number)
const stored = (process.argv[5] ?? 'bf16') as Dtype
const repeats = Number(process.argv[6] ?? 3)
const config = {
  hidden_size: 1024, num_hidden_layers: layers, num_attention_heads: 16, num_key_value_heads: 8, head_dim: 128, intermediate_size: 3072,
  vocab_size: 64 * Math.round((151_936 * layers) / 28 / 64), rms_norm_eps: 1e-6, rope_theta: 1e6, tie_word_embeddings: true,
}

const g = createRecorder()
const known = new Map<string, Tensor>()
const weights = (name: string, shape: readonly number[]) => {
  const tensor = known.get(name) ?? g.input(name, name.includes('_proj') ? stored : 'bf16', shape)
  known.set(name, tensor)
  return tensor
}
const { linear, adapters } = createLinear({ g, dtype: 'bf16', weights, lora: { lora_rank: 16, lora_alpha: 32, lora_target_modules: LORA_MODULES } })
const batch = {
  ids: g.input('ids', 'i32', [T]), positions: g.input('positions', 'i32', [T]), cuSeqlens: g.input('cuSeqlens', 'i32', [2]), targets: g.input('targets', 'i32', [T]),
  cosSin: g.input('cosSin', 'f32', [T, config.head_dim]),
}
const { loss } = recordQwen3({ g, config, dtype: 'bf16', weights, linear, trainsHead: false }, batch)
const grads = differentiate(g, new Map([[loss, ONE]]), adapters)
const program = g.finish({ loss, ...Object.fromEntries([...grads].map(([tensor, grad]) => [`${tensor.name}.grad`, grad])) })

using engine = await createEngine({ threads, log: line => console.log(line) })
const prepared = prepare(engine, program, planMemory(program))
const buffers: Record<string, Uint8Array> = Object.fromEntries(prepared.bindings.map(name => [name, engine.allocate(prepared.bytesOf(name))]))
const put = (name: string, values: ArrayBufferView) => buffers[name]?.set(new Uint8Array(values.buffer))
put('ids', Int32Array.from({ length: T }, (_, t) => (t * 7919) % config.vocab_size))
put('targets', Int32Array.from({ length: T }, (_, t) => (t * 104_729) % config.vocab_size))
put('cuSeqlens', Int32Array.of(0, T))
put('positions', packedPositions([0, T]))
put('cosSin', ropeTable(T, config.head_dim, config.rope_theta))

// Weights are quantised natively from small noise; norms are one.
const noise = Float32Array.from({ length: 65_536 }, (_, i) => (uniform({ seed: 1, step: 0, op: 0 }, i) - 0.5) * 0.06)
for (const tensor of [...known.values(), ...adapters]) {
  const count = tensor.shape.reduce((a, b) => a * b, 1)
  const values = Float32Array.from({ length: count }, (_, i) => (tensor.name?.includes('norm') ? 1 : (noise[i % noise.length] ?? 0)))
  const source = createRecorder()
  const x = source.input('x', 'f32', tensor.shape.length === 2 ? tensor.shape : [1, count])
  const { y } = source.quantize({ x }, { dtype: tensor.dtype })
  await prepare(engine, source.finish({ y })).run({ x: values, 'out:y': buffers[tensor.name ?? ''] ?? new Uint8Array() })
}

const linearParameters = layers * (1024 * 2048 * 2 + 2 * 1024 * 1024 + 3 * 1024 * 3072)
// Forward and the way back to the input: 4 a parameter; the head the same; causal attention 2·2·T·width·½ forward and 2.5 times that back.
const flopsPerToken = 4 * (linearParameters + config.vocab_size * 1024) + layers * 3.5 * 2 * T * 2048
const bytes = (names: Iterable<Tensor>) => [...names].reduce((sum, { dtype, shape }) => sum + byteLength(dtype, shape), 0) / 2 ** 20
console.log(`${engine.isa}, ${threads} threads, ${T} tokens, ${layers} layers, base ${stored} (code ${DTYPES[stored].code})`)
console.log(`arena ${(prepared.plan.arenaBytes / 2 ** 20).toFixed(0)} MiB, weights ${bytes(known.values()).toFixed(0)} MiB, ${program.steps.length} steps`)
for (let i = 0; i < repeats; i++) {
  const before = engine.peakFlops('bf16')
  const used = process.cpuUsage()
  const start = performance.now()
  const { seconds } = await prepared.run(buffers)
  const elapsed = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(used)
  const peak = (threads * (before + engine.peakFlops('bf16'))) / 2
  const ofPeak = (time: number) => ((flopsPerToken * T) / time / peak).toFixed(2)
  const shares = seconds.slice(0, 9).map(([op, time]) => `${op} ${((100 * time) / elapsed).toFixed(1)}%`)
  console.log(`${(T / elapsed).toFixed(0)} tokens/s, ${ofPeak(elapsed)} of peak, ${ofPeak((user + system) / 1e6 / threads)} by processor time; ${shares.join(', ')}`)
}
console.log(`loss a token ${((new Float32Array(buffers['out:loss']?.buffer ?? new ArrayBuffer(4))[0] ?? 0) / T).toFixed(3)}, workspace ${(engine.workspaceBytes() / 2 ** 20).toFixed(0)} MiB`)
