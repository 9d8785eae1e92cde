/** The addon that runs cards, and the list of cards of this machine. */
import type { OpName } from '@cairn-tune/ops'
import { DEVICE_ADDON } from './build.ts'
import type { Handle } from './load.ts'
import { findPrebuilt, openAddon } from './open-addon.ts'

/** Properties that the driver reports for a card. */
export type Card = {
  name: string
  /** Compute capability: 90 is 9.0. */
  capability: number
  processors: number
  memoryBytes: number
  /** 13000 is 13.0. */
  driverVersion: number
  /** Whether it computes on the processor, for tests. Its speed means nothing. */
  isEmulated: boolean
  /** Whether its kernels multiply fp8 operands in fp8. Other cards multiply them in bf16. */
  multipliesFp8: boolean
  /** The same of NVFP4 operands, forward. */
  multipliesFp4: boolean
}

/** What device/addon.cc exports. */
export type DeviceAddon = {
  /** Throws if the driver or a card is missing. */
  cards(driver: string): Card[]
  /** Ops that a card can run. */
  launchers(): OpName[]
  createEngine(
    driver: string,
    ordinal: number,
    modules: string,
    areText: boolean,
    isRowInvariant: boolean,
    usesFp8: boolean,
    usesFp4: boolean,
    kernels: number,
  ): Handle<'card engine'>
  closeEngine(engine: Handle<'card engine'>): void
  /** Free bytes of the card's memory. */
  freeBytes(engine: Handle<'card engine'>): number
  scratchBytes(engine: Handle<'card engine'>): number
  scratchBound(program: Handle<'program'>): number
  /** Launches of a run of a program, by kernel; `clear` and `copy` for memory. */
  launches(program: Handle<'program'>): Record<string, number>
  allocate(engine: Handle<'card engine'>, bytes: number): Handle<'card buffer'>
  part(buffer: Handle<'card buffer'>, from: number, to: number): Handle<'card buffer'>
  copyUp(buffer: Handle<'card buffer'>, at: number, view: Uint8Array): void
  copyDown(buffer: Handle<'card buffer'>, at: number, view: Uint8Array): void
  clear(buffer: Handle<'card buffer'>, at: number, bytes: number): void
  /** Throws for an op without a launcher, with its name. */
  compile(
    engine: Handle<'card engine'>,
    code: Int32Array,
    attrs: Float64Array,
    places: Float64Array,
  ): Handle<'program'>
  bind(
    engine: Handle<'card engine'>,
    program: Handle<'program'>,
    arena: Handle<'card buffer'>,
    bindings: readonly Handle<'card buffer'>[],
  ): Handle<'bound'>
  run(
    engine: Handle<'card engine'>,
    bound: Handle<'bound'>,
    isTimed: boolean,
    done: (error: Error | undefined, isCancelled: boolean, nanoseconds: Float64Array) => void,
  ): Handle<'run'>
  /** Runs programs with one wait at the end. `writes` are buffers, each followed by its bytes. */
  runQueue(
    engine: Handle<'card engine'>,
    runs: readonly (readonly [
      bound: Handle<'bound'>,
      writes: readonly (Handle<'card buffer'> | Uint8Array)[],
      from: Handle<'card buffer'>,
      to: Handle<'card buffer'>,
    ])[],
    done: (error: Error | undefined, isCancelled: boolean) => void,
  ): Handle<'run'>
  cancel(run: Handle<'run'>): void
  /** Bytes that name a group of ranks. Throws one sentence if NCCL is missing. */
  ncclId(library: string): Uint8Array
  /** Joins a group. The handle works when `done` was called without an error. */
  joinNccl(
    engine: Handle<'card engine'>,
    library: string,
    id: Uint8Array,
    rank: number,
    ranks: number,
    done: (error: Error | undefined) => void,
  ): Handle<'nccl'>
  /** Sends a part to each rank and receives one from each; null for none. */
  exchange(
    engine: Handle<'card engine'>,
    group: Handle<'nccl'>,
    sent: readonly (Handle<'card buffer'> | null)[],
    received: readonly (Handle<'card buffer'> | null)[],
    done: (error: Error | undefined) => void,
  ): void
  abortNccl(group: Handle<'nccl'>): void
}

/** The driver's library: the system's, or one that replaces it. */
export const driverLibrary = (env: NodeJS.ProcessEnv = process.env): string =>
  env.CAIRN_TUNE_CUDA_DRIVER ?? 'libcuda.so.1'

/** Whether a format's operands may be multiplied in it. `bf16` selects the kernels of other cards. */
function allowsFormat(format: 'fp8' | 'fp4', variable: string, value: string = format): boolean {
  if (value !== format && value !== 'bf16')
    throw new Error(`Invalid ${variable} ${JSON.stringify(value)}: must be ${format} or bf16.`)
  return value === format
}
export const usesFp8 = ({ CAIRN_TUNE_CUDA_FP8: value }: NodeJS.ProcessEnv = process.env): boolean =>
  allowsFormat('fp8', 'CAIRN_TUNE_CUDA_FP8', value)
export const usesFp4 = ({ CAIRN_TUNE_CUDA_FP4: value }: NodeJS.ProcessEnv = process.env): boolean =>
  allowsFormat('fp4', 'CAIRN_TUNE_CUDA_FP4', value)

/** NCCL's library: empty for the system's. */
export const ncclLibrary = (env: NodeJS.ProcessEnv = process.env): string => env['CAIRN_TUNE_NCCL'] ?? ''

/** What CAIRN_TUNE_KERNELS may be; the place of a name is its number in the addon. */
const KERNEL_CHOICES = ['', 'classic', 'bulk', 'bulk-all'] as const
export type KernelChoice = (typeof KERNEL_CHOICES)[number]

/** The number of the choice that leaves out kernels that no card has run. */
export const CLASSIC_KERNELS = KERNEL_CHOICES.indexOf('classic')

/** The kernels to run, as a number for the addon. */
export function kernelChoice(chosen = process.env['CAIRN_TUNE_KERNELS'] ?? ''): number {
  const found = KERNEL_CHOICES.findIndex(name => name === chosen)
  if (found >= 0) return found
  throw new Error(`Invalid CAIRN_TUNE_KERNELS "${chosen}": must be "classic", "bulk" or "bulk-all".`)
}

let loading: Promise<DeviceAddon> | undefined

/** The addon of this process. A failed build is tried again by the next caller. */
export function loadDeviceAddon(log?: (line: string) => void): Promise<DeviceAddon> {
  loading ??= openAddon({ parts: DEVICE_ADDON, prebuilt: findPrebuilt(), ...(log && { log }) })
    .then(({ addon }) => addon as DeviceAddon)
    .catch((error: unknown) => {
      loading = undefined
      throw error
    })
  return loading
}

/** Lists the cards of this machine. Throws one sentence if the driver is missing. */
export async function listCards(log?: (line: string) => void): Promise<Card[]> {
  return (await loadDeviceAddon(log)).cards(driverLibrary())
}

/** Ops with a launcher for cards. */
export async function listCardOps(log?: (line: string) => void): Promise<OpName[]> {
  return (await loadDeviceAddon(log)).launchers()
}
