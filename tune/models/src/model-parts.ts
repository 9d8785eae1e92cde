/** The parts of a model, read from one recording of its forward pass and listed nowhere else. */
import type { Shape } from '@cairn-tune/ops'
import { createRecorder, type Recorder, type Tensor } from '@cairn-tune/program'
import { matmulOf, type LinearOptions } from './lora.ts'
import type { ModelConfig } from './model-config.ts'
import { headName, headOf, recordHidden } from './record-model.ts'
import { ropeInputs } from './rope.ts'

/** A projection of a layer: recipes choose its storage and arithmetic, and adapters modify it. */
export type Projection = {
  name: string
  layer: number
  inputs: number
  outputs: number
  /** Number of its matrices, for a projection of experts. */
  experts: number | undefined
}

export type ModelParts = {
  /**
   * Every weight, in the order in which a forward pass first reads them; weights of experts as one of three
   * dimensions (`matricesOf` of `@cairn-tune/weights` lists their names in a checkpoint).
   */
  weights: readonly { name: string; shape: Shape }[]
  projections: readonly Projection[]
  /** By the weight's name: the projection's plus `.weight`. */
  projectionOf: ReadonlyMap<string, Projection>
  /** Last parts of the projections' names, such as `q_proj`, by which adapters select them. */
  modules: readonly string[]
  /** Width of a row of each layer's key cache. The value cache has the same width. */
  caches: readonly number[]
  /** Name of the matrix that computes logits. */
  head: string
}

const known = new WeakMap<ModelConfig, ModelParts>()

/** The parts of a model; recorded once for each configuration. */
export function partsOf(config: ModelConfig): ModelParts {
  const parts = known.get(config) ?? recordParts(config)
  known.set(config, parts)
  return parts
}

/** The layer of the projection that a weight belongs to. Undefined for other weights. */
export const projectionLayer = (config: ModelConfig, weight: string): number | undefined =>
  partsOf(config).projectionOf.get(weight)?.layer

function recordParts(config: ModelConfig): ModelParts {
  const g = createRecorder()
  const inputs = new Map<string, Tensor>()
  const weights = (name: string, shape: Shape) => {
    const tensor = inputs.get(name) ?? g.input(name, 'f32', shape)
    inputs.set(name, tensor)
    return tensor
  }
  const projections: Projection[] = []
  const caches: number[] = []
  let layer = -1
  const counted: Recorder = {
    ...g,
    block(name, record) {
      layer++
      return g.block(name, record)
    },
  }
  const plain = { alpha: 1, arithmetic: 'f32', dtype: 'f32' } as const
  const linear = (name: string, x: Tensor, n: number, added: LinearOptions = {}) => {
    const k = x.shape[1] ?? 0
    const { experts, ...sums } = added
    const count = experts ? experts.ends.shape : []
    projections.push({ name, layer, inputs: k, outputs: n, experts: count[0] })
    return matmulOf(g, experts)({ a: x, b: weights(`${name}.weight`, [...count, n, k]), ...sums }, plain)
  }
  const model = { g: counted, config, dtype: 'f32', weights, linear } as const
  const rows = {
    ids: g.input('ids', 'i32', [1]),
    positions: g.input('positions', 'i32', [1]),
    ropes: ropeInputs(g, config, 1),
  }
  recordHidden(model, rows, (_, q, k) => {
    caches.push(k.shape[1] ?? 0)
    return q
  })
  headOf(model)
  return {
    weights: [...inputs.values()].map(({ name = '', shape }) => ({ name, shape })),
    projections,
    projectionOf: new Map(projections.map(projection => [`${projection.name}.weight`, projection])),
    modules: [...new Set(projections.map(({ name }) => name.split('.').at(-1) ?? ''))],
    caches,
    head: headName(config),
  }
}
