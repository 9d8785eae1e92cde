/** What runs programs, and the engine of the CPU, which does so off Node's event loop. */
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

/** Memory that programs read and write. Only the engine that made it looks inside. */
export type DeviceBuffer = Handle<'buffer'> & { readonly byteLength: number }

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
  /** Zeroed memory for an arena or a tensor. */
  allocate(bytes: number): DeviceBuffer
  /**
   * Host memory for programs to read, such as a mapped file: where the engine computes in host memory it is
   * that memory itself, and not a copy.
   */
  adopt(host: ArrayBufferView): DeviceBuffer
  /** `adopt` of a mapped file, whose pages may come and go: only such are for `readIn` and `letGo`. */
  adoptFile(file: Uint8Array): DeviceBuffer
  /** Reads the pages of a buffer of a file in, beside what runs. */
  readIn(buffer: DeviceBuffer): Promise<void>
  /** Gives them back; whoever reads them next has them read in again. No run may be writing them. */
  letGo(buffer: DeviceBuffer): void
  /**
   * Puts host memory into a buffer from byte `at` on, or lets the caller write there: it is handed the memory
   * and must not keep it. No run may be using that part.
   */
  write(buffer: DeviceBuffer, source: ArrayBufferView | ((memory: Uint8Array) => void), at?: number): void
  /**
   * The bytes [from, to) of a buffer, all of it unless given. No run may be writing them; they hold until the
   * next one does.
   */
  read(buffer: DeviceBuffer, from?: number, to?: number): Promise<Uint8Array>
  /** The bytes [from, to) of a buffer as one of their own, in the same memory. */
  part(buffer: DeviceBuffer, from: number, to: number): DeviceBuffer
  /** Zeroes the bytes [from, to) of a buffer, all of it unless given. */
  clear(buffer: DeviceBuffer, from?: number, to?: number): void
  /**
   * Has the system give the pages of the bytes [from, to) of a buffer now, beside what runs: the first touch
   * of a page can take as long as a step of a model.
   */
  touch(buffer: DeviceBuffer, from: number, to: number): Promise<void>
  /** Readies a program for runs on the same memory. */
  bind(program: Executable, arena: DeviceBuffer, bindings: readonly DeviceBuffer[]): BoundRun
  /** Runs a program once. */
  run(
    program: Executable,
    arena: DeviceBuffer,
    bindings: readonly DeviceBuffer[],
    options?: RunOptions,
  ): Promise<RunReport>
  /** Bytes that kernels keep beside the tensors, so far. */
  scratchBytes(): number
  /**
   * Bytes that they keep at most once a program has run, before it runs: a function of its shapes, the
   * threads and the instruction set.
   */
  scratchBound(program: Executable): number
  /** Peak FLOP/s of one thread. NaN if not measured, as on a GPU. */
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

/** Any other memory would lose what is in it with its pages. */
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
