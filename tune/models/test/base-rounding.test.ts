/**
 * Linears whose base multiplies in fp8-hybrid or NVFP4: shared histories, the state kept between steps, and
 * bits that do not depend on the plan or the threads.
 */
import { afterAll, expect, test } from 'vitest'
import {
  byteLength,
  countElements,
  quantize,
  uniform,
  type Dtype,
  type LinearArithmetic,
} from '@cairn-tune/ops'
import { createEngine } from '@cairn-tune/native'
import {
  createLinear,
  packedPositions,
  parseModelConfig,
  recordModel,
  ropeInputs,
  ropeTables,
} from '@cairn-tune/models'
import {
  ONE,
  adoptAll,
  createRecorder,
  differentiate,
  outputBinding,
  prepare,
  recompute,
  type Program,
  type Tensor,
} from '@cairn-tune/program'

const engine = await createEngine({ threads: 2 })
const alone = await createEngine({ threads: 1 })
afterAll(() => [engine, alone].forEach(one => one.close()))

const T = 24
const config = parseModelConfig('config.json', {
  model_type: 'qwen3',
  hidden_size: 64,
  num_hidden_layers: 2,
  num_attention_heads: 4,
  num_key_value_heads: 2,
  head_dim: 16,
  intermediate_size: 96,
  vocab_size: 61,
  rms_norm_eps: 1e-6,
  rope_theta: 1e4,
  tie_word_embeddings: true,
})

function record(arithmetic: LinearArithmetic, stored: Dtype) {
  const g = createRecorder()
  const known = new Map<string, Tensor>()
  const weights = (name: string, shape: readonly number[]) => {
    const tensor = known.get(name) ?? g.input(name, name.includes('_proj') ? stored : 'bf16', shape)
    known.set(name, tensor)
    return tensor
  }
  const random = g.input('random', 'i32', [3])
  const made = createLinear({
    g,
    dtype: 'bf16',
    weights,
    lora: { lora_rank: 4, lora_alpha: 8 },
    rounding: { arithmeticOf: () => arithmetic, random },
  })
  const batch = {
    ids: g.input('ids', 'i32', [T]),
    positions: g.input('positions', 'i32', [T]),
    cuSeqlens: g.input('cuSeqlens', 'i32', [3]),
    targets: g.input('targets', 'i32', [T]),
    ropes: ropeInputs(g, config, T),
  }
  const { loss } = recordModel(
    { g, config, dtype: 'bf16', weights, linear: made.linear, trainsHead: false, logitRows: 512 },
    batch,
  )
  const grads = differentiate(g, new Map([[loss, ONE]]), made.adapters)
  return {
    program: g.finish({
      loss,
      ...Object.fromEntries([...grads].map(([tensor, grad]) => [`d.${tensor.name}`, grad])),
    }),
    histories: made.amaxHistories,
  }
}

function inputsOf(program: Program, step: number): Record<string, Uint8Array> {
  const fixed: Record<string, ArrayBufferView> = {
    ids: Int32Array.from({ length: T }, (_, t) => (t * 7) % 61),
    targets: Int32Array.from({ length: T }, (_, t) => (t * 11) % 61),
    cuSeqlens: Int32Array.of(0, 10, T),
    positions: packedPositions([0, 10, T]),
    ...ropeTables(config, T),
    random: Int32Array.of(5, 0, step),
  }
  return Object.fromEntries(
    program.tensors
      .filter(tensor => tensor.isInput)
      .map(({ name = '', dtype, shape }, seed) => {
        const given = fixed[name]
        if (given) return [name, new Uint8Array(given.buffer).slice()]
        if (name.startsWith('amax:')) return [name, new Uint8Array(byteLength(dtype, shape))]
        const values = Float32Array.from({ length: countElements(shape) }, (_, i) =>
          name.includes('norm') ? 1 : 0.3 * (uniform({ seed, step: 1, op: 0 }, i) - 0.5),
        )
        return [name, quantize(values, dtype, shape)]
      }),
  )
}

async function run(
  on: typeof engine,
  program: Program,
  step = 1,
  state: Record<string, Uint8Array> = {},
): Promise<Record<string, Uint8Array>> {
  const prepared = prepare(on, program)
  const buffers = { ...inputsOf(program, step), ...state }
  const all = Object.fromEntries(
    prepared.bindings.map(name => [name, buffers[name] ?? new Uint8Array(prepared.bytesOf(name))]),
  )
  await prepared.run(adoptAll(on, all))
  return all
}
const lossOf = (buffers: Record<string, Uint8Array>) =>
  new Float32Array(buffers[outputBinding('loss')]!.buffer)[0]!
const changed = (buffers: Record<string, Uint8Array>) =>
  Object.entries(buffers).filter(([name]) => name.startsWith('out:') || name.startsWith('amax:'))

const kinds = [
  ['fp8_hybrid', 'fp8_tensor'],
  ['nvfp4', 'nvfp4'],
  ['fp8_hybrid', 'nvfp4'],
] as const

test('q, k and v share a history, as do gate and up; nvfp4 needs none', () => {
  expect(record('fp8_hybrid', 'fp8_tensor').histories.map(({ name }) => name)).toEqual(
    [0, 1].flatMap(l =>
      ['self_attn.q_proj', 'self_attn.o_proj', 'mlp.gate_proj', 'mlp.down_proj'].map(
        part => `amax:model.layers.${l}.${part}`,
      ),
    ),
  )
  expect(record('nvfp4', 'nvfp4').histories).toEqual([])
})

/** Promise T7: With rounding to small formats, recomputing and the number of threads change no bit. */
test.each(kinds)(
  '%s on %s: recomputed layers and the number of threads change no bit',
  async (arithmetic, stored) => {
    const { program } = record(arithmetic, stored)
    const plain = await run(engine, program)
    const layers = new Set(['layer 0', 'layer 1'])
    const again = recompute(program, { cheap: layers, whole: layers })
    expect(again.steps.length).toBeGreaterThan(program.steps.length)
    for (const other of [await run(engine, again), await run(alone, program)]) {
      for (const [name, bytes] of changed(plain)) expect(Buffer.compare(other[name]!, bytes), name).toBe(0)
    }
  },
)

test('the loss is close but not equal to that of bf16 on the same weights', async () => {
  for (const [arithmetic, stored] of kinds) {
    const [exact, rounded] = [
      lossOf(await run(engine, record('bf16', stored).program)),
      lossOf(await run(engine, record(arithmetic, stored).program)),
    ]
    expect(Math.abs(rounded / exact - 1)).toBeLessThan(0.02)
    expect(rounded).not.toBe(exact)
  }
})

test('nvfp4 gradients are rounded with the step as seed, so another step gives other bits', async () => {
  const { program } = record('nvfp4', 'nvfp4')
  const [one, same, other] = [
    await run(engine, program, 1),
    await run(engine, program, 1),
    await run(engine, program, 2),
  ]
  const name = outputBinding('d.model.layers.0.self_attn.q_proj.lora_B.weight')
  expect(Buffer.compare(one[name]!, same[name]!)).toBe(0)
  expect(Buffer.compare(one[name]!, other[name]!)).not.toBe(0)
})

test('fp8-hybrid records the largest magnitudes and scales the next step by them', async () => {
  const { program, histories } = record('fp8_hybrid', 'fp8_tensor')
  const first = await run(engine, program)
  const seen = histories.map(({ name = '' }) => new Float32Array(first[name]!.buffer))
  for (const history of seen)
    expect([history[0]! > 0, history.subarray(1).every(value => value === 0)]).toEqual([true, true])
  // A history far above the current magnitudes makes the rounding coarser, so the loss changes.
  const state = Object.fromEntries(
    histories.map(({ name = '' }, i) => [
      name,
      new Uint8Array(Float32Array.from(seen[i]!, (_, j) => (j === 1 ? seen[i]![0]! * 3e4 : 0)).buffer),
    ]),
  )
  expect(lossOf(await run(engine, program, 1, state))).not.toBe(lossOf(first))
})
