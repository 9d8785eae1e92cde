/** A planned program on an engine: compiled once, run with buffers by name. */
import { byteLength, typeText } from '@cairn-tune/ops'
import type { BoundRun, DeviceBuffer, Engine, RunOptions, RunReport } from '@cairn-tune/native'
import { flatten } from './flatten.ts'
import { planMemory, type Plan } from './plan.ts'
import type { Program } from './program.ts'

export type Buffers = Readonly<Record<string, DeviceBuffer>>

/** Adopts host memory as buffers with the same names. */
export const adoptAll = (engine: Engine, views: Readonly<Record<string, ArrayBufferView>>): Buffers =>
  Object.fromEntries(Object.entries(views).map(([name, host]) => [name, engine.adopt(host)]))

export type PreparedProgram = {
  readonly plan: Plan
  /**
   * Names of the buffers that each run needs: the inputs, and `out:<name>` for each output that is not an
   * input.
   */
  readonly bindings: readonly string[]
  /** Bytes of one of those buffers. */
  bytesOf(binding: string): number
  /** Maximum scratch bytes of the kernels. A plan's bytes do not include them. */
  readonly scratchBytes: number
  /** Resolves buffers once, for runs that reuse them. */
  bind(buffers: Buffers): BoundRun
  run(buffers: Buffers, options?: RunOptions): Promise<RunReport>
}

/**
 * Maximum scratch bytes of an engine's kernels for a program, in addition to its arena and buffers. Allocates
 * nothing.
 */
export function scratchBytes(engine: Engine, program: Program, plan: Plan = planMemory(program)): number {
  return engine.scratchBound(engine.compile(flatten(program, plan.placements)))
}

/**
 * Compiles a program. Allocates its arena unless the caller passes one. Programs that never run at the same
 * time may share an arena.
 */
export function prepare(
  engine: Engine,
  program: Program,
  plan: Plan = planMemory(program),
  arena: DeviceBuffer = engine.allocate(plan.arenaBytes),
): PreparedProgram {
  if (arena.byteLength < plan.arenaBytes)
    throw new Error(`the program needs an arena of ${plan.arenaBytes} bytes, not ${arena.byteLength}`)
  const flat = flatten(program, plan.placements)
  const executable = engine.compile(flat)
  const types = new Map(
    [...plan.placements].flatMap(([tensor, place]) =>
      'binding' in place ? [[place.binding, tensor] as const] : [],
    ),
  )

  function bufferFor(binding: string, buffers: Buffers): DeviceBuffer {
    const buffer = buffers[binding]
    const tensor = types.get(binding)
    if (!buffer)
      throw new Error(`the program needs a buffer for ${binding}${tensor ? `, ${typeText(tensor)}` : ''}`)
    return buffer
  }

  function bind(buffers: Buffers): BoundRun {
    return engine.bind(
      executable,
      arena,
      flat.bindings.map(binding => bufferFor(binding, buffers)),
    )
  }

  return {
    plan,
    bind,
    scratchBytes: engine.scratchBound(executable),
    bindings: flat.bindings,
    bytesOf(binding) {
      const tensor = types.get(binding)
      if (!tensor) throw new Error(`the program has no buffer ${binding}; known: ${flat.bindings.join(', ')}`)
      return byteLength(tensor.dtype, tensor.shape)
    },
    async run(buffers, options) {
      return await bind(buffers)(options)
    },
  }
}
