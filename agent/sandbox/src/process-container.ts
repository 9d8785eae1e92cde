/** How the processes of a sandbox are kept together. The kinds differ in what a command can do to escape. */
import type { ChildProcess } from 'node:child_process'

/** The control group of one command. */
export type Cgroup = {
  /** A command line that joins the group and then executes `argv`. */
  join(argv: readonly string[]): readonly string[]
  members(): number[]
  /** The memory limit at which the kernel ended it; null: it did not. */
  outOfMemory(): boolean
  kill(): void
  gone(): Promise<void>
}

export type ContainedProcesses = {
  /** The current processes of the command, without the container's own; stops after `most`. */
  members(most?: number): number[]
  /** Ends all processes. Also called after the leader's exit, for its descendants. */
  kill(): void
  /** After a kill: resolves when no process runs, rejects when one cannot be ended. */
  gone(): Promise<void>
}

export type ProcessContainer = {
  kind: 'pid namespace' | 'control group' | 'subreaper' | 'marks'
  /** What it cannot contain, as the end of a sentence; null: nothing. */
  loses: string | null
  /** Its processes have their own user namespace, in which the kernel counts them. */
  countsApart: boolean
  /**
   * The command line that runs `argv` contained, in `group` if given, and additional environment
   * variables. Without `mayReport` all descriptors belong to the command.
   */
  wrap(
    argv: readonly string[],
    group: Cgroup | null,
    mayReport: boolean,
  ): {
    argv: readonly string[]
    env?: Readonly<Record<string, string>>
    /** Descriptor 3 is a pipe for its reports. */
    reports?: true
    hold(leader: Leader): ContainedProcesses
  }
}

/** `stdio` is set if this process started it. */
export type Leader = { pid: number; stdio?: ChildProcess['stdio'] }
export const REPORT_FD = 3
