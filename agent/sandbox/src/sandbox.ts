/**
 * Sandboxes for untrusted programs: a command, a coding agent, a browser, an MCP server.
 *
 * sandbox            contains one process and its descendants; closing it ends all of them
 * provider           creates sandboxes of one kind; chosen once, when the runner starts (choose.ts)
 * proxy              the only way out of a sandbox without a network: a unix socket (policy-proxy.ts)
 * process container  keeps the processes of a sandbox together, so that all can be found and ended
 * leader             the started process; the others are its descendants
 */
import type { Readable, Writable } from 'node:stream'
import type { Config } from '@cairn/protocol'

export type SandboxLimits = Pick<
  Config['sandbox'],
  'memory_mb' | 'pids' | 'cpus' | 'file_mb' | 'open_files' | 'tmp_mb'
>

/** A file or folder of this machine, visible in the sandbox as `to`. */
export type Bind = { from: string; to: string; writable: boolean }

/** `socket`: of its proxy; the sandbox then has only 127.0.0.1:3128 and the variables that name it. */
export type SandboxNetwork = 'none' | 'open' | { socket: string }

/** A reason to end what is watched; null: none. */
export type Watch = () => Promise<string | null> | string | null

export type SandboxSpec = {
  /** `cairn-<session id>-<purpose>`; identifies the remains of a sandbox after a crash. */
  id: string
  /** Absolute; writable, and the working directory of the process. */
  workspace: string
  binds?: readonly Bind[]
  env: Readonly<Record<string, string>>
  network: SandboxNetwork
  /** Overrides of the configured limits. */
  limits?: Partial<SandboxLimits>
  /** False: files can be truncated and removed, but nothing can be written. */
  mayGrowFiles: boolean
  /** The program creates its own sandboxes, as a browser does for its pages: namespaces stay allowed. */
  nests?: boolean
}

/** `overran`: the limit for which the process was ended, as a sentence. */
export type Exit = { exitCode: number | null; signal: NodeJS.Signals | null; overran: string | null }

export type SandboxProcess = {
  /** Null unless requested. */
  stdin: Writable | null
  stdout: Readable
  stderr: Readable
  /** The process itself has exited; its descendants may still run. */
  exited: Promise<Exit>
}

export type SpawnOptions = {
  /** Polled while it runs; a returned reason ends everything in the sandbox. */
  watch?: Watch
  /** Absent: stdin is empty. */
  stdin?: 'pipe'
}

export type Sandbox = {
  /** One process per sandbox. */
  spawn(argv: readonly string[], options?: SpawnOptions): SandboxProcess
  /**
   * For a process that another library must start: the command line that runs `argv` in the sandbox and
   * passes on descriptors 3 and 4, and the environment that it needs. `adopt` takes the resulting process;
   * from then on its limits are watched and `kill` reaches it. Null if the provider does not support it.
   */
  commandLine:
    | ((argv: readonly string[]) => {
        argv: readonly string[]
        env: Readonly<Record<string, string>>
        adopt(pid: number): void
      })
    | null
  /** Asks everything in the sandbox to exit. */
  terminate(): void
  /** Ends everything in the sandbox. */
  kill(): void
  /** Like `kill`, and resolves when nothing of it runs any more; rejects if something still does. */
  close(): Promise<void>
}

export type SandboxProvider = {
  kind: 'bubblewrap' | 'container' | 'unboxed'
  /** The network of sandboxes unless the policy forbids it. */
  network: 'none' | 'open' | 'proxy'
  /** Whether a sandbox can be cut off from the network. */
  cutsNetwork: boolean
  /** Whether a sandbox without a network can have a proxy. */
  hasProxies: boolean
  /** Whether `nests` and `commandLine` are supported, which a browser needs. */
  holdsBrowsers: boolean
  /** What a result states about its sandbox; null: nothing. */
  caveat: string | null
  open(spec: SandboxSpec): Sandbox
  /** Ids of existing sandboxes, including those of other runners if they outlive a runner. */
  list(): Promise<string[]>
  /** Ends a sandbox that no handle refers to any more. */
  remove(id: string): Promise<void>
}

/** The id of a session's sandbox. */
export const sandboxId = (session_id: string, what: string): string => `cairn-${session_id}-${what}`
