/** Loads the addon, building it first where needed. The only place that knows its untyped face. */
import { createRequire } from 'node:module'
import { buildAddon } from './build.ts'

declare const kind: unique symbol
/** Something that native code owns; freed with its last reference. */
export type Handle<Kind extends string> = { readonly [kind]: Kind }

/** What binding/addon.cc exports. */
export type Addon = {
  /** Instruction sets compiled in and supported by this processor, slowest first. */
  isas(): string[]
  /** Processors this process may run on. */
  processors(): number
  /** Zeroed memory that starts at a cache line, large ones on huge pages where the system has them. */
  allocate(bytes: number): ArrayBuffer
  /**
   * A file's bytes as private memory, read from the file where they are touched. Unmapped with the last view.
   */
  mapFile(path: string): ArrayBuffer
  /**
   * A file of so many bytes in a directory, without a name there: it goes with the last view or the process.
   * What is written to the view is in the file. Throws where the disk has no room for it.
   */
  mapSpool(directory: string, bytes: number): ArrayBuffer
  /**
   * Gives the whole pages inside a view of a mapped file back to the system; they are read again where they
   * are touched again.
   */
  forgetPages(view: Uint8Array): void
  /** Has the pages of a view made real off this thread, without changing what is in them. */
  touchPages(view: Uint8Array, done: () => void): void
  /** Reads the pages of a view of a mapped file in, off this thread. */
  readPages(view: Uint8Array, done: () => void): void
  createEngine(threads: number, isa: string): Handle<'engine'>
  closeEngine(engine: Handle<'engine'>): void
  /** Bytes that an engine's kernels keep beside the tensors. */
  scratchBytes(engine: Handle<'engine'>): number
  /** Bytes that they keep at most after runs of a program. */
  scratchBound(engine: Handle<'engine'>, program: Handle<'program'>): number
  /** FLOP/s of one thread in a loop that never leaves the registers. */
  peak(engine: Handle<'engine'>, arithmetic: string): number
  compile(code: Int32Array, attrs: Float64Array, places: Float64Array): Handle<'program'>
  /** A program on memory that the caller keeps alive for as long as it may run. */
  bind(program: Handle<'program'>, arena: Uint8Array, bindings: readonly ArrayBufferView[]): Handle<'bound'>
  /**
   * Starts a run and returns what cancels it; `done` gets an error or none, whether it was cancelled, and
   * nanoseconds by op.
   */
  run(
    engine: Handle<'engine'>,
    bound: Handle<'bound'>,
    done: (error: Error | undefined, isCancelled: boolean, nanoseconds: Float64Array) => void,
  ): Handle<'run'>
  cancel(run: Handle<'run'>): void
  /** Decodes codes of a scalar format. */
  decode(format: string, codes: Uint8Array | Uint16Array, out: Float32Array): void
  /** Encodes numbers into codes of a scalar format, to nearest, ties to even. */
  encode(format: string, values: Float32Array, out: Uint8Array | Uint16Array): void
  /** Encodes numbers stochastically: up where the uniform number in [0, 1) is below the fraction. */
  encodeStochastic(format: string, values: Float32Array, uniforms: Float32Array, out: Uint8Array): void
  /** Writes four random words for a counter of four words and a key of two. */
  philox(counter: Uint32Array, key: Uint32Array, out: Uint32Array): void
}

let loading: Promise<Addon> | undefined

/** The addon of this process. A failed build is tried again by the next caller. */
export function loadAddon(log?: (line: string) => void): Promise<Addon> {
  loading ??= buildAddon(log ? { log } : {})
    .then(path => createRequire(import.meta.url)(path) as Addon)
    .catch((error: unknown) => {
      loading = undefined
      throw error
    })
  return loading
}
