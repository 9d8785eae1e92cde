/** A golden model as a training program: its loss, hidden states and the gradient of all that is trained. */
import { countElements, dequantize, quantize, type Dtype, type Shape } from '@cairn-tune/ops'
import type { Engine } from '@cairn-tune/native'
import {
  ONE,
  adoptAll,
  createRecorder,
  differentiate,
  outputBinding,
  planMemory,
  prepare,
  type Program,
  type Recorder,
  type Tensor,
} from '@cairn-tune/program'
import {
  createLinear,
  packedPositions,
  partsOf,
  recordLogits,
  recordModel,
  ropeInputs,
  ropeTables,
  type Balance,
  type ModelConfig,
} from '@cairn-tune/models'
import { readTensors, type Golden } from './golden-file.ts'

export type GoldenModel = {
  config: ModelConfig
  tensors: Map<string, Float32Array>
  /**
   * Outputs by name in f32: `hidden`, `logits`, `losses`, `<trained tensor>.grad`. Another config is tried on
   * the same weights, and `storedAs` stores some in fewer bits.
   */
  run: (
    hasLora: boolean,
    config?: ModelConfig,
    storedAs?: (name: string) => Dtype | undefined,
  ) => Promise<Map<string, Float32Array>>
  /**
   * Weights that the forward pass asks for and the file does not have, or of another size; and the other way
   * round.
   */
  missing: () => string[]
}

/** Later files have tensors of the same names instead. */
export function openGolden(engine: Engine, golden: Golden, ...files: string[]): GoldenModel {
  const tensors = new Map(files.flatMap(file => [...readTensors(file)]))
  const cuSeqlens = golden.lengths.reduce((ends, length) => [...ends, (ends.at(-1) ?? 0) + length], [0])
  const T = golden.ids.length
  const maxLength = Math.max(...golden.lengths)

  /** Every row counts: nothing is padded. */
  const recordedBalance = (g: Recorder, coefficient: number): Balance => ({
    coefficient,
    counted: g.input('counted', 'i32', [T]),
    scale: g.input('times', 'f32', [1]),
    sums: [],
  })

  function record(
    config: ModelConfig,
    hasLora: boolean,
    storedAs: (name: string) => Dtype | undefined,
  ): Program {
    const g = createRecorder()
    const known = new Map<string, Tensor>()
    const weights = (name: string, shape: Shape) => {
      const tensor = known.get(name) ?? g.input(name, storedAs(name) ?? 'f32', shape)
      known.set(name, tensor)
      return tensor
    }
    const { linear, adapters } = createLinear({
      g,
      dtype: 'f32',
      weights,
      ...(hasLora ? { lora: golden.lora } : {}),
      random: golden.random && g.input('random', 'i32', [3]),
    })
    const ints = (name: string, length: number) => g.input(name, 'i32', [length])
    const coefficient = golden.router_aux_loss_coef
    const balance = coefficient === undefined ? undefined : recordedBalance(g, coefficient)
    const recorded = { g, config, dtype: 'f32' as const, weights, linear, balance, logitRows: 512 }
    const made = recordModel(
      { ...recorded, trainsHead: !hasLora },
      {
        ids: ints('ids', T),
        positions: ints('positions', T),
        cuSeqlens: ints('cuSeqlens', cuSeqlens.length),
        targets: ints('targets', T),
        ropes: ropeInputs(g, config, maxLength),
      },
    )
    const { loss, losses, hidden } = made
    // The server computes logits the same way.
    const logits = recordLogits({ g, config, dtype: 'f32', weights }, hidden)
    const parts = [loss, ...(made.balance ? [made.balance] : [])].map(part => [part, ONE] as const)
    const grads = differentiate(g, new Map(parts), hasLora ? adapters : [...known.values()])
    return g.finish({
      losses,
      hidden,
      logits,
      ...(made.balance ? { balance: made.balance } : {}),
      ...Object.fromEntries([...grads].map(([tensor, grad]) => [`${tensor.name}.grad`, grad])),
    })
  }

  return {
    config: golden.config,
    tensors,
    async run(hasLora, config = golden.config, storedAs = () => undefined) {
      const data: Record<string, ArrayLike<number>> = {
        random: golden.random ?? [],
        counted: golden.ids.map(() => 1),
        times: [golden.targets.filter(target => target !== -100).length],
        ids: golden.ids,
        targets: golden.targets,
        cuSeqlens,
        positions: packedPositions(cuSeqlens),
        ...ropeTables(config, maxLength),
      }
      const program = record(config, hasLora, storedAs)
      const prepared = prepare(engine, program, planMemory(program))
      const buffers: Record<string, Uint8Array> = Object.fromEntries(
        prepared.bindings.map(name => [name, new Uint8Array(prepared.bytesOf(name))]),
      )
      for (const { name = '', dtype, shape } of program.tensors.filter(tensor => tensor.isInput))
        buffers[name] = quantize(Float32Array.from(data[name] ?? tensors.get(name) ?? []), dtype, shape)
      await prepared.run(adoptAll(engine, buffers))
      return new Map(
        Object.entries(program.outputs).map(([name, { dtype, shape }]) => [
          name,
          dequantize(buffers[outputBinding(name)] ?? new Uint8Array(), dtype, shape),
        ]),
      )
    },
    missing() {
      const asked = new Map(partsOf(golden.config).weights.map(({ name, shape }) => [name, shape]))
      const stored = [...tensors.keys()].filter(name => !/^(?:bare|lora)\.|\.lora_[AB]\./.test(name))
      return [
        ...stored.filter(name => !asked.has(name)),
        ...[...asked].flatMap(([name, shape]) =>
          tensors.get(name)?.length === countElements(shape) ? [] : [name],
        ),
      ]
    },
  }
}

const length = (values: Float32Array) => Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))

/** Euclidean length of the difference, relative to that of what should be. */
export function distance(actual: Float32Array, expected: Float32Array): number {
  if (actual.length !== expected.length) return Infinity
  const difference = length(actual.map((value, i) => value - (expected[i] ?? 0)))
  return difference === 0 ? 0 : difference / length(expected)
}
