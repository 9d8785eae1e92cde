/** Loads the addon, after building it if needed. The only place that knows its untyped interface. */
import { CPU_ADDON } from './build.ts'
import { findPrebuilt, openAddon } from './open-addon.ts'

declare const kind: unique symbol
/** An object owned by native code, freed with its last reference. */
export type Handle<Kind extends string> = { readonly [kind]: Kind }

/** The exports of binding/addon.cc. */
export type Addon = {
  /** Instruction sets compiled in and supported by this processor, slowest first. */
  isas(): string[]
  /** Processors this process may run on. */
  processors(): number
  /** Zeroed memory, aligned to a cache line. Large allocations use huge pages if the system has them. */
  allocate(bytes: number): ArrayBuffer
  /** A file's bytes as private memory, read on access. Unmapped with the last view. */
  mapFile(path: string): ArrayBuffer
  /**
   * An unnamed file of `bytes` bytes in a directory, deleted with the last view or the process. Writes to the
   * view go to the file. Throws if the disk has no room for it.
   */
  mapSpool(directory: string, bytes: number): ArrayBuffer
  /**
   * Releases the whole pages inside a view of a mapped file to the system. The next access reads them again.
   */
  forgetPages(view: Uint8Array): void
  /** Makes the system allocate the pages of a view off this thread, without changing their contents. */
  touchPages(view: Uint8Array, done: () => void): void
  /** Loads the pages of a view of a mapped file, off this thread. */
  readPages(view: Uint8Array, done: () => void): void
  createEngine(threads: number, isa: string): Handle<'engine'>
  closeEngine(engine: Handle<'engine'>): void
  /** Bytes of kernel scratch of an engine, in addition to tensors. */
  scratchBytes(engine: Handle<'engine'>): number
  /** Maximum bytes of kernel scratch after runs of a program. */
  scratchBound(engine: Handle<'engine'>, program: Handle<'program'>): number
  /** FLOP/s of one thread in a loop that never leaves the registers. */
  peak(engine: Handle<'engine'>, arithmetic: string): number
  compile(code: Int32Array, attrs: Float64Array, places: Float64Array): Handle<'program'>
  /** A program on memory that the caller keeps alive for as long as it may run. */
  bind(program: Handle<'program'>, arena: Uint8Array, bindings: readonly ArrayBufferView[]): Handle<'bound'>
  /**
   * Starts a run and returns a function that cancels it. `done` receives an error or none, whether it was
   * cancelled, and nanoseconds by op.
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

let loading: Promise<{ addon: Addon; origin: string }> | undefined

/** The addon of this process. A failed build is tried again by the next caller. */
export const loadAddon = async (log?: (line: string) => void): Promise<Addon> => (await load(log)).addon

/** The file of the loaded addon, and the reason for choosing it. */
export const addonOrigin = async (): Promise<string> => (await load()).origin

function load(log?: (line: string) => void): Promise<{ addon: Addon; origin: string }> {
  loading ??= openAddon({
    parts: CPU_ADDON,
    file: process.env.CAIRN_TUNE_ADDON,
    prebuilt: findPrebuilt(),
    ...(log && { log }),
  })
    .then(({ addon, origin }) => ({ addon: addon as Addon, origin }))
    .catch((error: unknown) => {
      loading = undefined
      throw error
    })
  return loading
}
