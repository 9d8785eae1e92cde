/** How the processes of a box are kept together. The kinds differ in what a command may do to get away. */
import type { ChildProcess } from 'node:child_process'
import type { Cgroup } from './cgroup.ts'

export type ContainedProcesses = {
  /** What the command consists of at this moment, without the holder's own processes; stops after `most`. */
  members(most?: number): number[]
  /** Ends all of it. Also called when the leader is over, for what it left behind. */
  kill(): void
  /** Once killed: resolves when nothing of it runs, rejects when something does and cannot be ended. */
  gone(): Promise<void>
}

export type ProcessContainer = {
  kind: 'pid namespace' | 'control group' | 'subreaper' | 'marks'
  /** What it cannot hold, as the end of a sentence; null: nothing. */
  loses: string | null
  /** Its processes have a user namespace of their own, in which the kernel counts them. */
  countsApart: boolean
  /**
   * The command line that runs `argv` held, in `group` if there is one; and what its environment needs
   * beside. Without `mayReport` all descriptors are the command's.
   */
  wrap(
    argv: readonly string[],
    group: Cgroup | null,
    mayReport: boolean,
  ): {
    argv: readonly string[]
    env?: Readonly<Record<string, string>>
    /** Descriptor 3 is then a pipe that it reports on. */
    reports?: true
    hold(leader: Leader): ContainedProcesses
  }
}

/** `stdio` is there where this process started it. */
export type Leader = { pid: number; stdio?: ChildProcess['stdio'] }
export const REPORT_FD = 3
