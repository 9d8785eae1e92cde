/** The interface of engines, and the engine of the CPU, which runs programs off Node's event loop. */
import { OP_NAMES, type Arithmetic, type OpName } from '@cairn-tune/ops'
import { loadAddon, type Handle } from './load.ts'

/**
 * A program in the form that native code reads. `code` is a version, the number of tensors, the number of
 * steps; for each tensor dtype code, rank and sizes; for each step the op's number, its inputs (−1 if absent)
 * and its outputs, in the order of the op table. `attrs` holds all attributes in order. `places` has one
 * number per tensor: an offset into the arena, or −1 − i for the i-th buffer bound at a run.
 */
export type FlatProgram = { code: Int32Array; attrs: Float64Array; places: Float64Array }

export const FLAT_VERSION = 1

export type Executable = Handle<'program'>

/** Memory that programs read and write. Only the engine that allocated it accesses its contents. */
export type DeviceBuffer = Handle<'buffer'> & { readonly byteLength: number }

export type RunOptions = { signal?: AbortSignal }

/** Seconds of each op in a run, largest first. */
export type RunReport = { readonly seconds: [op: OpName, seconds: number][] }

/**
 * Runs the bound program. Rejects with the signal's reason when aborted, which takes effect between two ops.
 */
export type BoundRun = (options?: RunOptions) => Promise<RunReport>

/** A run of a queue: what is written before it, and a copy between buffers of the same size after it. */
export type QueuedRun = {
  run: BoundRun
  writes: readonly (readonly [to: DeviceBuffer, source: ArrayBufferView])[]
  copy: readonly [from: DeviceBuffer, to: DeviceBuffer]
}

export type Engine = {
  readonly threads: number
  readonly isa: string
  /** Rows of logits for which the head's products run at full speed on this engine. */
  readonly logitRows: number
  /** Whether a product that reads an f32 matrix in bf16 needs a launch of its own to convert it. */
  readonly convertsInLaunches: boolean
  /** Whether neighbouring products with few columns share a launch. */
  readonly groupsProducts: boolean
  /** Whether `read` returns the memory of a buffer itself instead of a copy. */
  readonly readsInPlace: boolean
  /** Reads a flat program once, for many runs. Throws if it is malformed. */
  compile(program: FlatProgram): Executable
  /** Zeroed memory for an arena or a tensor. */
  allocate(bytes: number): DeviceBuffer
  /**
   * Makes host memory, such as a mapped file, readable for programs. An engine that computes in host memory
   * uses it without a copy.
   */
  adopt(host: ArrayBufferView): DeviceBuffer
  /**
   * `adopt` for a mapped file, whose pages can be loaded and released. `readIn` and `letGo` accept only such
   * buffers.
   */
  adoptFile(file: Uint8Array): DeviceBuffer
  /** Loads the pages of a file's buffer, concurrently with runs. */
  readIn(buffer: DeviceBuffer): Promise<void>
  /** Releases the pages. The next read loads them again. No run may be writing them. */
  letGo(buffer: DeviceBuffer): void
  /**
   * Writes host memory into a buffer from byte `at` on, or passes the memory to a callback that fills it and
   * must not keep it. No run may be using that part.
   */
  write(buffer: DeviceBuffer, source: ArrayBufferView | ((memory: Uint8Array) => void), at?: number): void
  /**
   * The bytes [from, to) of a buffer, by default all. No run may be writing them. They are valid until the
   * next run that does.
   */
  read(buffer: DeviceBuffer, from?: number, to?: number): Promise<Uint8Array>
  /** The bytes [from, to) of a buffer as a buffer in the same memory. */
  part(buffer: DeviceBuffer, from: number, to: number): DeviceBuffer
  /** Zeroes the bytes [from, to) of a buffer, by default all. */
  clear(buffer: DeviceBuffer, from?: number, to?: number): void
  /**
   * Makes the system allocate the pages of the bytes [from, to) of a buffer now, concurrently with runs: the
   * first touch of a page can take as long as a step of a model.
   */
  touch(buffer: DeviceBuffer, from: number, to: number): Promise<void>
  /** Prepares a program for runs on the same memory. */
  bind(program: Executable, arena: DeviceBuffer, bindings: readonly DeviceBuffer[]): BoundRun
  /** Runs a program once. */
  run(
    program: Executable,
    arena: DeviceBuffer,
    bindings: readonly DeviceBuffer[],
    options?: RunOptions,
  ): Promise<RunReport>
  /**
   * Runs bound programs one after the other with one wait at the end. An abort takes effect before the next
   * but one. Undefined for an engine that gains nothing from it.
   */
  runQueue?: ((queue: readonly QueuedRun[], options?: RunOptions) => Promise<void>) | undefined
  /** Bytes of kernel scratch in use, in addition to tensors. */
  scratchBytes(): number
  /**
   * Maximum bytes of kernel scratch after a program has run: a function of its shapes, the threads and the
   * instruction set.
   */
  scratchBound(program: Executable): number
  /** Peak FLOP/s of one thread. NaN if not measured, as on a GPU. */
  peakFlops(arithmetic: Arithmetic): number
  /** Stops the threads. A run in flight is cancelled. */
  close(): void
  [Symbol.dispose](): void
}

export type EngineOptions = {
  /** Defaults to all processors this process may use. */
  threads?: number
  /** Defaults to the fastest of this processor. */
  isa?: string
  /** Receives a line before the addon is built. */
  log?: (line: string) => void
}

/** Instruction sets available on this machine, slowest first. */
export const listIsas = async (): Promise<string[]> => (await loadAddon()).isas()

export const bytesOf = ({ buffer, byteOffset, byteLength }: ArrayBufferView) =>
  new Uint8Array(buffer, byteOffset, byteLength)

/** The memory behind each buffer, which lives as long as the buffer does. */
const memories = new WeakMap<DeviceBuffer, Uint8Array>()
/** Buffers whose memory is a mapped file. */
const ofFiles = new WeakSet<DeviceBuffer>()

function bufferOf(memory: Uint8Array): DeviceBuffer {
  const buffer = Object.freeze({ byteLength: memory.byteLength }) as DeviceBuffer
  memories.set(buffer, memory)
  return buffer
}

function memoryOf(buffer: DeviceBuffer): Uint8Array {
  const memory = memories.get(buffer)
  if (!memory) throw new TypeError('a buffer must come from allocate or adopt of an engine')
  return memory
}

/** Any other memory would lose its contents with its pages. */
function fileOf(buffer: DeviceBuffer): Uint8Array {
  if (!ofFiles.has(buffer)) throw new TypeError('only buffers of adoptFile can be paged in and out')
  return memoryOf(buffer)
}

/** Starts an engine: a thread that walks programs and a pool that computes. */
export async function createEngine(options: EngineOptions = {}): Promise<Engine> {
  const addon = await loadAddon(options.log)
  const threads = options.threads ?? addon.processors()
  const isa = options.isa ?? addon.isas().at(-1) ?? 'portable'
  const engine = addon.createEngine(threads, isa)

  function bind(program: Executable, arena: DeviceBuffer, bindings: readonly DeviceBuffer[]): BoundRun {
    const bound = addon.bind(program, memoryOf(arena), bindings.map(memoryOf))
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
                  `The engine was closed during a run with an arena of ${arena.byteLength} bytes and ` +
                    `${bindings.length} buffers.`,
                ),
            )
          } else {
            // Computed on access: a server runs hundreds of programs a second and never reads it.
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
    logitRows: 512,
    convertsInLaunches: false,
    groupsProducts: false,
    readsInPlace: true,
    compile: ({ code, attrs, places }) => addon.compile(code, attrs, places),
    allocate: bytes => bufferOf(new Uint8Array(addon.allocate(bytes))),
    adopt: host => bufferOf(bytesOf(host)),
    adoptFile(file) {
      const buffer = bufferOf(file)
      ofFiles.add(buffer)
      return buffer
    },
    readIn: buffer => new Promise(resolve => addon.readPages(fileOf(buffer), resolve)),
    letGo: buffer => addon.forgetPages(fileOf(buffer)),
    write(buffer, source, at = 0) {
      const memory = memoryOf(buffer).subarray(at)
      if (typeof source === 'function') source(memory)
      else memory.set(bytesOf(source))
    },
    read: async (buffer, from, to) => memoryOf(buffer).subarray(from, to),
    part: (buffer, from, to) => bufferOf(memoryOf(buffer).subarray(from, to)),
    clear: (buffer, from, to) => void memoryOf(buffer).fill(0, from, to),
    touch: (buffer, from, to) =>
      new Promise(resolve => addon.touchPages(memoryOf(buffer).subarray(from, to), resolve)),
    bind,
    run: async (program, arena, bindings, options) => await bind(program, arena, bindings)(options),
    scratchBytes: () => addon.scratchBytes(engine),
    scratchBound: program => addon.scratchBound(engine, program),
    peakFlops: arithmetic => addon.peak(engine, arithmetic),
    close,
    [Symbol.dispose]: close,
  }
}

export function secondsByOp(nanoseconds: Float64Array): RunReport['seconds'] {
  return OP_NAMES.map((name, i): [OpName, number] => [name, (nanoseconds[i] ?? 0) * 1e-9])
    .filter(([, seconds]) => seconds > 0)
    .toSorted((a, b) => b[1] - a[1])
}
