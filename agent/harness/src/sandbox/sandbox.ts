/**
 * Where something runs that is not trusted: a command, a coding agent, a browser, a server of MCP.
 *
 * box       what one process and everything it starts runs in; closing it ends all of them
 * provider  makes boxes of one kind; chosen once, when the worker starts (choose.ts)
 * proxy     the one way out of a box without a network: a unix socket of the policy proxy (policy-proxy.ts)
 * holder    how the processes of a box are kept together, so that all of them can be found and ended
 * leader    the process that was started; the others descend from it
 */
import type { Readable, Writable } from 'node:stream'
import type { Config } from '@cairn/protocol'
import type { Watch } from './watchdog.ts'

export type SandboxLimits = Pick<
  Config['sandbox'],
  'memory_mb' | 'pids' | 'cpus' | 'file_mb' | 'open_files' | 'tmp_mb'
>

/** A file or folder of this machine, seen in the box under `to`. */
export type Bind = { from: string; to: string; writable: boolean }

/** `socket`: of its proxy; the box then has 127.0.0.1:3128, the variables that name it, and nothing else. */
export type SandboxNetwork = 'none' | 'open' | { socket: string }

export type SandboxSpec = {
  /** `cairn-<session id>-<what for>`; what is left of a box after a crash is found by it. */
  id: string
  /** Absolute; may be written, and is where the process begins. */
  workspace: string
  binds?: readonly Bind[]
  env: Readonly<Record<string, string>>
  network: SandboxNetwork
  /** Other than the configuration's. */
  limits?: Partial<SandboxLimits>
  /** False: files can be shortened and removed, and nothing more can be written. */
  mayGrowFiles: boolean
  /** What runs in it makes boxes of its own, as a browser does for its pages: namespaces stay allowed. */
  nests?: boolean
}

/** `overran`: the limit that the process was ended for, as a sentence. */
export type Exit = { exitCode: number | null; signal: NodeJS.Signals | null; overran: string | null }

export type SandboxProcess = {
  /** Null unless it was asked for. */
  stdin: Writable | null
  stdout: Readable
  stderr: Readable
  /** The process itself is over; what it left behind may still run. */
  exited: Promise<Exit>
}

export type SpawnOptions = {
  /** Asked while it runs; a reason that it gives ends everything in the box. */
  watch?: Watch
  /** Absent: nothing can be read there. */
  stdin?: 'pipe'
}

export type Sandbox = {
  /** One process a box. */
  spawn(argv: readonly string[], options?: SpawnOptions): SandboxProcess
  /**
   * For a process that another library must start: the command line that runs `argv` in the box, its
   * descriptors 3 and 4 handed on, and the environment that it needs. `adopt` tells the box which process
   * that became; from then on its limits are watched and `kill` reaches it. Null where a provider cannot.
   */
  commandLine:
    | ((argv: readonly string[]) => {
        argv: readonly string[]
        env: Readonly<Record<string, string>>
        adopt(pid: number): void
      })
    | null
  /** Asks everything in the box to end. */
  terminate(): void
  /** Ends everything in the box. */
  kill(): void
  /** As `kill`, and resolves when nothing of it runs any more; rejects where something still does. */
  close(): Promise<void>
}

export type SandboxProvider = {
  kind: 'bubblewrap' | 'container' | 'unboxed'
  /** What boxes get where the policy does not forbid it. */
  network: 'none' | 'open' | 'proxy'
  /** Whether a box can be cut off the network. */
  cutsNetwork: boolean
  /** Whether a box without a network can have a proxy. */
  hasProxies: boolean
  /** Whether `nests` and `commandLine` are possible: what a browser needs. */
  holdsBrowsers: boolean
  /** What a result says about its box, or null where there is nothing to say. */
  caveat: string | null
  open(spec: SandboxSpec): Sandbox
  /** The boxes that are there, by id; those of other workers among them where they outlive a worker. */
  list(): Promise<string[]>
  /** Ends a box of which nobody holds the handle any more. */
  remove(id: string): Promise<void>
}

/** The name of a session's box. */
export const sandboxId = (session_id: string, what: string): string => `cairn-${session_id}-${what}`
