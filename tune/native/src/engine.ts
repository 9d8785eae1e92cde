/** Runs programs on the CPU, off Node's event loop. */
import { OP_NAMES, type Arithmetic, type OpName } from '@cairn-tune/ops'
import { loadAddon, type Handle } from './load.ts'

/**
 * A program as native code reads it. `code` is a version, the number of tensors, the number of steps; for
 * each tensor dtype code, rank and sizes; for each step the op's number, its inputs (−1 where left out) and
 * its outputs, in the order of the op table. `attrs` are all attributes in order. `places` has one number a
 * tensor: an offset into the arena, or −1 − i for the i-th buffer bound at a run.
 */
export type FlatProgram = { code: Int32Array; attrs: Float64Array; places: Float64Array }

export const FLAT_VERSION = 1

export type Executable = Handle<'program'>

export type RunOptions = { signal?: AbortSignal }

/** Seconds that each op took in a run, largest first. */
export type RunReport = { readonly seconds: [op: OpName, seconds: number][] }

/** Runs what was bound; rejects with the signal's reason when aborted, which takes effect between two ops. */
export type BoundRun = (options?: RunOptions) => Promise<RunReport>

export type Engine = {
  readonly threads: number
  readonly isa: string
  /** Reads a flat program once, for many runs; throws on anything out of place. */
  compile(program: FlatProgram): Executable
  /** Zeroed memory for an arena or a large tensor. */
  allocate(bytes: number): Uint8Array
  /**
   * Has the system give the pages of a part of such memory now, beside what runs: the first touch of a page
   * can take as long as a pass of a model.
   */
  touch(part: Uint8Array): Promise<void>
  /** Readies a program for runs on the same memory. */
  bind(program: Executable, arena: Uint8Array, bindings: readonly ArrayBufferView[]): BoundRun
  /** Runs a program once. */
  run(
    program: Executable,
    arena: Uint8Array,
    bindings: readonly ArrayBufferView[],
    options?: RunOptions,
  ): Promise<RunReport>
  /** Bytes that kernels keep beside the tensors, so far. */
  workspaceBytes(): number
  /**
   * Bytes that they keep at most once a program has run, before it runs: a function of its shapes, the
   * threads and the instruction set.
   */
  workspaceBound(program: Executable): number
  peakFlops(arithmetic: Arithmetic): number
  /** Stops the threads. A run in flight is cancelled. */
  close(): void
  [Symbol.dispose](): void
}

export type EngineOptions = {
  /** All processors this process may use, unless given. */
  threads?: number
  /** The fastest this processor has, unless given. */
  isa?: string
  /** Told when the addon has to be built first. */
  log?: (line: string) => void
}

/** Instruction sets that engines of this machine can be asked for, slowest first. */
export const listIsas = async (): Promise<string[]> => (await loadAddon()).isas()

/** Starts an engine: a thread that walks programs and a pool that computes. */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const addon = await loadAddon(options.log)
  const threads = options.threads ?? addon.processors()
  const isa = options.isa ?? addon.isas().at(-1) ?? 'portable'
  const engine = addon.createEngine(threads, isa)

  function bind(program: Executable, arena: Uint8Array, bindings: readonly ArrayBufferView[]): BoundRun {
    const bound = addon.bind(program, arena, bindings)
    return async ({ signal } = {}) => {
      signal?.throwIfAborted()
      return await new Promise<RunReport>((resolve, reject) => {
        const onAbort = () => addon.cancel(running)
        // The closure keeps arena and bindings alive for as long as native code writes to them.
        const running = addon.run(engine, bound, (error, isCancelled, nanoseconds) => {
          signal?.removeEventListener('abort', onAbort)
          if (error) {
            reject(error)
          } else if (isCancelled) {
            reject(
              signal?.reason ??
                new Error(
                  `The engine was closed during a run with an arena of ${arena.byteLength} bytes and ${bindings.length} buffers.`,
                ),
            )
          } else {
            // Worked out for those who look: a server runs hundreds of programs a second and never does.
            resolve({
              get seconds() {
                return secondsByOp(nanoseconds)
              },
            })
          }
        })
        signal?.addEventListener('abort', onAbort, { once: true })
      })
    }
  }

  const close = () => addon.closeEngine(engine)
  return {
    threads,
    isa,
    compile: ({ code, attrs, places }) => addon.compile(code, attrs, places),
    allocate: bytes => new Uint8Array(addon.allocate(bytes)),
    touch: part => new Promise(resolve => addon.touchPages(part, resolve)),
    bind,
    run: async (program, arena, bindings, options) => await bind(program, arena, bindings)(options),
    workspaceBytes: () => addon.workspaceBytes(engine),
    workspaceBound: program => addon.workspaceBound(engine, program),
    peakFlops: arithmetic => addon.peak(engine, arithmetic),
    close,
    [Symbol.dispose]: close,
  }
}

function secondsByOp(nanoseconds: Float64Array): RunReport['seconds'] {
  return OP_NAMES.map((name, i): [OpName, number] => [name, (nanoseconds[i] ?? 0) * 1e-9])
    .filter(([, seconds]) => seconds > 0)
    .toSorted((a, b) => b[1] - a[1])
}
