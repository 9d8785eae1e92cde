/** Runs programs on a card: buffers are in its memory, and a program is launched as one graph. */
import { buildModules } from './build-modules.ts'
import {
  CLASSIC_KERNELS,
  driverLibrary,
  kernelChoice,
  loadDeviceAddon,
  ncclLibrary,
  usesFp4,
  usesFp8,
  type Card,
  type KernelChoice,
} from './cards.ts'
import {
  bytesOf,
  secondsByOp,
  type BoundRun,
  type DeviceBuffer,
  type Engine,
  type Executable,
  type QueuedRun,
  type RunOptions,
} from './engine.ts'
import type { Handle } from './load.ts'

export type CudaOptions = {
  /** Defaults to the first card. */
  ordinal?: number
  /** Launches and times each op by itself instead of a graph, for profiling. */
  isTimed?: boolean
  /**
   * Whether each row of a product has the same bits whatever the other rows are, as a server promises. Costs
   * speed for many rows.
   */
  isRowInvariant?: boolean
  /** A choice of kernels of sm_90. Defaults to CAIRN_TUNE_KERNELS. */
  kernels?: KernelChoice
  /** Receives a line before a build starts. */
  log?: (line: string) => void
}

/** Exchanges of bytes between the cards of several ranks. */
export type CardExchange = {
  /**
   * Sends a part to each rank and receives one from each, in the order of ranks; undefined for none. Every
   * rank calls it, and awaits it.
   */
  exchange(
    sent: readonly (DeviceBuffer | undefined)[],
    received: readonly (DeviceBuffer | undefined)[],
  ): Promise<void>
  /** Ends a waiting exchange. */
  abort(): void
}

export type CudaEngine = Engine & {
  readonly card: Card
  /** Free bytes of the card's memory. */
  freeBytes(): number
  /** Launches of a run of a program, by kernel; `clear` and `copy` for memory. Launches nothing. */
  launches(program: Executable): Readonly<Record<string, number>>
  /** Bytes that name a group of ranks for NCCL. Throws one sentence if it is not installed. */
  createNcclId(): Uint8Array
  /** Joins the ranks of a group by NCCL. */
  joinNccl(group: { id: Uint8Array; rank: number; ranks: number }): Promise<CardExchange>
}

/** An addon's buffer: the handle that a run uses, and its size. */
type CardBuffer = { handle: Handle<'card buffer'>; byteLength: number }

/** `cuda:0 NVIDIA H100 (9.0)`. The text of an emulated card says that its speed means nothing. */
/** The times of programs that were not timed. */
const UNTIMED = new Float64Array()

const cardText = ({ name, capability, isEmulated }: Card, ordinal: number): string =>
  `cuda:${ordinal} ${name} (${Math.floor(capability / 10)}.${capability % 10})` +
  (isEmulated ? ', emulated (no speed)' : '')

/** Starts an engine on a card, after building its kernels if the cache does not have them. */
export async function createCudaEngine(options: CudaOptions = {}): Promise<CudaEngine> {
  const { ordinal = 0, isTimed = false, isRowInvariant = false, kernels, log } = options
  const choice = kernelChoice(kernels)
  const addon = await loadDeviceAddon(log)
  const driver = driverLibrary()
  const cards = addon.cards(driver)
  const card = cards[ordinal]
  if (!card) throw new Error(`GPU ${ordinal} does not exist; the driver reports ${cards.length}`)
  const areText = card.isEmulated
  const modules = await buildModules({ capability: card.capability, areText, ...(log && { log }) })
  const engine = addon.createEngine(
    driver,
    ordinal,
    modules,
    areText,
    isRowInvariant,
    usesFp8(),
    usesFp4(),
    choice,
  )

  const buffers = new WeakMap<DeviceBuffer, CardBuffer>()
  function wrap(handle: Handle<'card buffer'>, byteLength: number): DeviceBuffer {
    const buffer = Object.freeze({ byteLength }) as DeviceBuffer
    buffers.set(buffer, { handle, byteLength })
    return buffer
  }
  function handleOf(buffer: DeviceBuffer): Handle<'card buffer'> {
    const found = buffers.get(buffer)
    if (!found) throw new TypeError('a buffer must come from allocate or adopt of an engine')
    return found.handle
  }
  const allocate = (bytes: number) => wrap(addon.allocate(engine, bytes), bytes)
  const readNow = (buffer: DeviceBuffer, from = 0, to = buffer.byteLength) => {
    const view = new Uint8Array(to - from)
    addon.copyDown(handleOf(buffer), from, view)
    return view
  }
  function write(
    buffer: DeviceBuffer,
    source: ArrayBufferView | ((memory: Uint8Array) => void),
    at = 0,
  ): void {
    if (typeof source !== 'function') return addon.copyUp(handleOf(buffer), at, bytesOf(source))
    const memory = readNow(buffer, at)
    source(memory)
    addon.copyUp(handleOf(buffer), at, memory)
  }

  /** The last memory that each program was bound to. A graph is recorded once per memory. */
  const bounds = new WeakMap<
    Executable,
    { arena: DeviceBuffer; bindings: readonly DeviceBuffer[]; bound: Handle<'bound'> }
  >()
  function boundOf(program: Executable, arena: DeviceBuffer, bindings: readonly DeviceBuffer[]) {
    const known = bounds.get(program)
    const isSame =
      known?.arena === arena &&
      known.bindings.length === bindings.length &&
      known.bindings.every((buffer, i) => buffer === bindings[i])
    if (isSame) return known.bound
    const bound = addon.bind(engine, program, handleOf(arena), bindings.map(handleOf))
    bounds.set(program, { arena, bindings: [...bindings], bound })
    return bound
  }

  type Done = Parameters<typeof addon.run>[3]
  /** Waits for work of the engine's thread, or for the abort that ends it. */
  async function finish(
    start: (done: Done) => Handle<'run'>,
    signal: AbortSignal | undefined,
    what: () => string,
  ): Promise<Float64Array> {
    signal?.throwIfAborted()
    return await new Promise((resolve, reject) => {
      const onAbort = () => addon.cancel(running)
      const running = start((error, isCancelled, nanoseconds) => {
        signal?.removeEventListener('abort', onAbort)
        if (error) reject(error)
        else if (isCancelled)
          reject(signal?.reason ?? new Error(`The engine was closed during a run with ${what()}.`))
        else resolve(nanoseconds)
      })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  }

  const boundRuns = new WeakMap<BoundRun, Handle<'bound'>>()
  function bind(program: Executable, arena: DeviceBuffer, bindings: readonly DeviceBuffer[]): BoundRun {
    const bound = boundOf(program, arena, bindings)
    const run: BoundRun = async ({ signal } = {}) => {
      // The closures keep arena and bindings alive for as long as the card may write to them.
      const start = (done: Done) => addon.run(engine, bound, isTimed, done)
      const what = () => `an arena of ${arena.byteLength} bytes and ${bindings.length} buffers`
      return { seconds: secondsByOp(await finish(start, signal, what)) }
    }
    boundRuns.set(run, bound)
    return run
  }

  async function runQueue(queue: readonly QueuedRun[], { signal }: RunOptions = {}): Promise<void> {
    const runs = queue.map(({ run, writes, copy: [from, to] }) => {
      const bound = boundRuns.get(run)
      if (!bound) throw new TypeError('a run of a queue must come from bind of the same engine')
      const bytes = writes.flatMap(([buffer, source]) => [handleOf(buffer), bytesOf(source)])
      return [bound, bytes, handleOf(from), handleOf(to)] as const
    })
    // The closure keeps the runs alive, and they their buffers.
    await finish(
      done => addon.runQueue(engine, runs, (error, isCancelled) => done(error, isCancelled, UNTIMED)),
      signal,
      () => `${queue.length} programs`,
    )
  }

  async function joinNccl({ id, rank, ranks }: { id: Uint8Array; rank: number; ranks: number }) {
    const finished = <T>(begin: (done: (error: Error | undefined) => void) => T) =>
      new Promise<T>((resolve, reject) => {
        const begun = begin(error => (error ? reject(error) : resolve(begun)))
      })
    const group = await finished(done => addon.joinNccl(engine, ncclLibrary(), id, rank, ranks, done))
    const handles = (parts: readonly (DeviceBuffer | undefined)[]) =>
      parts.map(part => (part ? handleOf(part) : null))
    return {
      exchange: (
        sent: readonly (DeviceBuffer | undefined)[],
        received: readonly (DeviceBuffer | undefined)[],
      ) => finished(done => addon.exchange(engine, group, handles(sent), handles(received), done)),
      abort: () => addon.abortNccl(group),
    }
  }

  const adopt = (host: ArrayBufferView) => {
    const buffer = allocate(host.byteLength)
    write(buffer, host)
    return buffer
  }
  const close = () => addon.closeEngine(engine)
  return {
    card,
    threads: 1,
    isa: cardText(card, ordinal),
    // With fewer rows, the gradient of a narrow model has too few tiles for all processors of a card.
    logitRows: 2048,
    convertsInLaunches: true,
    groupsProducts: choice !== CLASSIC_KERNELS,
    readsInPlace: false,
    compile: ({ code, attrs, places }) => addon.compile(engine, code, attrs, places),
    allocate,
    adopt,
    // A card has its own copy, which is not paged.
    adoptFile: adopt,
    readIn: () => Promise.resolve(),
    letGo: () => undefined,
    write,
    read: (buffer, from, to) => Promise.resolve(readNow(buffer, from, to)),
    part: (buffer, from, to) => wrap(addon.part(handleOf(buffer), from, to), to - from),
    clear: (buffer, from = 0, to = buffer.byteLength) => addon.clear(handleOf(buffer), from, to - from),
    // A card's memory is allocated at once.
    touch: () => Promise.resolve(),
    bind,
    // Ops are timed one by one.
    runQueue: isTimed ? undefined : runQueue,
    run: async (program, arena, bindings, runOptions) => await bind(program, arena, bindings)(runOptions),
    scratchBytes: () => addon.scratchBytes(engine),
    scratchBound: program => addon.scratchBound(program),
    peakFlops: () => NaN,
    launches: program => addon.launches(program),
    freeBytes: () => addon.freeBytes(engine),
    createNcclId: () => addon.ncclId(ncclLibrary()),
    joinNccl,
    close,
    [Symbol.dispose]: close,
  }
}
