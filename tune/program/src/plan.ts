/**
 * The memory plan: every tensor of a program gets an offset in one arena, except those that are bound to a
 * caller's buffers. Tensors that are never live together share memory.
 */
import { PART_ALIGNMENT, alignUp, byteLength, specOf } from '@cairn-tune/ops'
import type { Placement } from './flatten.ts'
import { inputTensors, outputTensors, type Program, type Tensor } from './program.ts'

export type Plan = {
  placements: Map<Tensor, Placement>
  /** Size of the arena: the program's memory besides the caller's buffers. */
  arenaBytes: number
}

/** First and last step, or stage, in which a tensor needs its memory. */
export type Lifetime = { tensor: Tensor; bytes: number; from: number; to: number }

/** Name of the buffer of a program's output. */
export const outputBinding = (name: string) => `out:${name}`

/** Lays out a program. Inputs and outputs are in buffers bound by name. */
export function planMemory(program: Program): Plan {
  const rootOf = findRoots(program)
  const placements = new Map<Tensor, Placement>()
  for (const tensor of program.tensors.filter(one => one.isInput))
    placements.set(tensor, { binding: tensor.name ?? '' })
  for (const [name, tensor] of Object.entries(program.outputs)) {
    const root = rootOf(tensor)
    if (!placements.has(root)) placements.set(root, { binding: outputBinding(name) })
  }
  const arenaBytes = assignOffsets(
    listLives(program, rootOf).filter(({ tensor }) => !placements.has(tensor)),
    placements,
  )
  for (const tensor of program.tensors) {
    const placement = placements.get(rootOf(tensor))
    if (placement) placements.set(tensor, placement)
  }
  return { placements, arenaBytes }
}

/** The tensor whose memory an op's in-place output reuses, through any number of steps. */
function findRoots(program: Program): (tensor: Tensor) => Tensor {
  const roots = new Map<Tensor, Tensor>()
  const rootOf = (tensor: Tensor) => roots.get(tensor) ?? tensor
  const overwritten = new Map<Tensor, string>()
  for (const step of program.steps) {
    for (const tensor of inputTensors(step)) {
      const by = overwritten.get(tensor)
      if (by) throw new Error(`[${step.op}] reads a tensor that ${by} has overwritten`)
    }
    for (const [output, input] of Object.entries({ ...specOf(step.op).inPlace, ...step.inPlace })) {
      const [to, from] = [step.outputs[output], step.inputs[input]]
      if (!to || !from) continue
      roots.set(to, rootOf(from))
      overwritten.set(from, step.op)
    }
  }
  return rootOf
}

function listLives(program: Program, rootOf: (tensor: Tensor) => Tensor): Lifetime[] {
  const lives = new Map<Tensor, Lifetime>()
  for (const [i, step] of program.steps.entries()) {
    for (const tensor of [...inputTensors(step), ...outputTensors(step)].map(rootOf)) {
      const life = lives.get(tensor)
      if (life) life.to = i
      else
        lives.set(tensor, {
          tensor,
          bytes: alignUp(byteLength(tensor.dtype, tensor.shape), PART_ALIGNMENT),
          from: i,
          to: i,
        })
    }
  }
  return [...lives.values()]
}

/**
 * Places the largest tensors first, each at the lowest offset that is free for its whole life. Returns the
 * end of the highest.
 */
export function assignOffsets(lives: Lifetime[], placements: Map<Tensor, Placement>): number {
  const placed: (Lifetime & { offset: number })[] = []
  let end = 0
  for (const life of lives.toSorted((a, b) => b.bytes - a.bytes || a.from - b.from)) {
    let offset = 0
    // `placed` is kept in order of offset, so the first gap that is wide enough is the lowest.
    for (const other of placed) {
      if (other.from > life.to || other.to < life.from) continue
      if (other.offset >= offset + life.bytes) break
      offset = Math.max(offset, other.offset + other.bytes)
    }
    const index = placed.findIndex(other => other.offset > offset)
    placed.splice(index < 0 ? placed.length : index, 0, { ...life, offset })
    placements.set(life.tensor, { offset })
    end = Math.max(end, offset + life.bytes)
  }
  return end
}
