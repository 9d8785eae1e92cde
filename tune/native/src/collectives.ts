/**
 * Collectives of the ranks of a run: one interface over shared memory (processes of one machine) and MPI
 * (several machines). Every rank calls the same operations in the same order and awaits each of them.
 */
import { COLLECTIVES_ADDON } from './build.ts'
import type { Handle } from './load.ts'
import { findPrebuilt, openAddon } from './open-addon.ts'

type Group = Handle<'group'>
type Done = (error?: Error) => void

/** The exports of collectives/addon.cc. */
type CollectivesAddon = {
  createGroup(ranks: number): number
  joinGroup(file: number, rank: number, ranks: number, timeoutSeconds: number): Group
  joinMpi(library: string): Group
  rank(group: Group): number
  ranks(group: Group): number
  addRound(group: Group, views: readonly Uint8Array[], isFirst: boolean, done: Done): void
  takeSums(group: Group, views: readonly Uint8Array[], done: Done): void
  allGather(group: Group, mine: Uint8Array, all: Uint8Array, done: Done): void
  exchange(
    group: Group,
    sent: readonly Uint8Array[],
    received: readonly Uint8Array[],
    largest: number,
    done: Done,
  ): void
  broadcast(group: Group, view: Uint8Array, root: number, done: Done): void
  barrier(group: Group, done: Done): void
  abort(group: Group): void
  leave(group: Group, done: Done): void
}

export type Collectives = {
  readonly rank: number
  readonly ranks: number
  /** `shared memory` or `MPI`. */
  readonly transport: string
  /**
   * Adds f32 numbers in host memory of all ranks, from rank 0 up, to the sums of earlier rounds, which the
   * first round discards: the same bits on every transport, whichever rank arrives first.
   */
  addRound(views: readonly Uint8Array[], isFirst: boolean): Promise<void>
  /** Replaces the numbers by the sums of all rounds. */
  takeSums(views: readonly Uint8Array[]): Promise<void>
  /** The bytes of every rank, one after the other. All ranks give equally many. */
  allGather(mine: Uint8Array): Promise<Uint8Array>
  /**
   * Sends part r of `sent` to rank r, and fills part r of `received` with what rank r sends. No part between
   * any two ranks has more than `largest` bytes.
   */
  exchange(sent: readonly Uint8Array[], received: readonly Uint8Array[], largest: number): Promise<void>
  /** Replaces the bytes by those of rank `root`. */
  broadcast(view: Uint8Array, root: number): Promise<void>
  /** Resolves when every rank has called it. */
  barrier(): Promise<void>
  /** Ends the group for all ranks: their operations reject. With MPI, the launcher ends all processes. */
  abort(): void
  /** Leaves the group after the last operation. */
  leave(): Promise<void>
}

let loading: Promise<CollectivesAddon> | undefined

/** The addon of this process. A failed build is tried again by the next caller. */
function loadCollectives(log?: (line: string) => void): Promise<CollectivesAddon> {
  loading ??= openAddon({ parts: COLLECTIVES_ADDON, prebuilt: findPrebuilt(), ...(log && { log }) })
    .then(({ addon }) => addon as CollectivesAddon)
    .catch((error: unknown) => {
      loading = undefined
      throw error
    })
  return loading
}

/**
 * Creates the shared memory of a group of processes. Returns its file descriptor, which they inherit. The
 * memory ends with the last of them.
 */
export const createGroup = async (ranks: number, log?: (line: string) => void): Promise<number> =>
  (await loadCollectives(log)).createGroup(ranks)

type JoinOptions = {
  /** An inherited file descriptor of createGroup, which joining closes. */
  file: number
  rank: number
  ranks: number
  /** How long an operation waits for the other ranks. */
  timeoutSeconds: number
}

/** Joins a group in shared memory. */
export async function joinGroup({ file, rank, ranks, timeoutSeconds }: JoinOptions): Promise<Collectives> {
  const addon = await loadCollectives()
  return collectivesOf(addon, addon.joinGroup(file, rank, ranks, timeoutSeconds), 'shared memory')
}

/**
 * Joins the ranks that `mpirun` or `srun` started. Throws one sentence if no MPI library is installed.
 * CAIRN_TUNE_MPI names another library.
 */
export async function joinMpi(env: NodeJS.ProcessEnv = process.env): Promise<Collectives> {
  const addon = await loadCollectives()
  return collectivesOf(addon, addon.joinMpi(env['CAIRN_TUNE_MPI'] ?? ''), 'MPI')
}

function collectivesOf(addon: CollectivesAddon, group: Group, transport: string): Collectives {
  const finished = (begin: (done: Done) => void) =>
    new Promise<void>((resolve, reject) => begin(error => (error ? reject(error) : resolve())))
  const ranks = addon.ranks(group)
  return {
    rank: addon.rank(group),
    ranks,
    transport,
    addRound: (views, isFirst) => finished(done => addon.addRound(group, views, isFirst, done)),
    takeSums: views => finished(done => addon.takeSums(group, views, done)),
    async allGather(mine) {
      const all = new Uint8Array(mine.byteLength * ranks)
      await finished(done => addon.allGather(group, mine, all, done))
      return all
    },
    exchange: (sent, received, largest) =>
      finished(done => addon.exchange(group, sent, received, largest, done)),
    broadcast: (view, root) => finished(done => addon.broadcast(group, view, root, done)),
    barrier: () => finished(done => addon.barrier(group, done)),
    abort: () => addon.abort(group),
    leave: () => finished(done => addon.leave(group, done)),
  }
}
