/**
 * Where a command runs.
 *
 * box       what one command and everything it starts runs in; closing it ends all of them
 * provider  makes boxes of one kind; chosen once, when the worker starts (choose.ts)
 * holder    how the processes of a box are kept together, so that all of them can be found and ended
 * leader    the process that was started; the others descend from it
 */
import type { Readable } from 'node:stream'
import type { Config } from '@cairn/protocol'
import type { Watch } from './watchdog.ts'

export type BoxLimits = Omit<Config['sandbox'], 'terminal' | 'network'>

export type BoxSpec = {
  /** Absolute; the one folder that may be written. */
  workspace: string
  env: Readonly<Record<string, string>>
  network: 'none' | 'open'
  /** False: files can be shortened and removed, and nothing more can be written. */
  mayGrowFiles: boolean
}

/** `overran`: the limit that the command was ended for, as a sentence. */
export type Exit = { exitCode: number | null; signal: NodeJS.Signals | null; overran: string | null }

export type BoxProcess = {
  stdout: Readable
  stderr: Readable
  /** The command itself is over; what it left behind may still run. */
  exited: Promise<Exit>
}

export type Box = {
  /** One process a box. `watch` is asked while it runs; a reason that it gives ends everything in the box. */
  spawn(argv: readonly string[], watch?: Watch): BoxProcess
  /** Asks everything in the box to end. */
  terminate(): void
  /** Ends everything in the box. */
  kill(): void
  /** As `kill`, and resolves when nothing of it runs any more; rejects where something still does. */
  close(): Promise<void>
}

export type SandboxProvider = {
  kind: 'bubblewrap' | 'unboxed'
  /** What commands get where their agent's policy does not forbid it. */
  network: BoxSpec['network']
  /** Whether a box can be cut off the network. */
  cutsNetwork: boolean
  /** What a result says about its box, or null where there is nothing to say. */
  caveat: string | null
  open(spec: BoxSpec): Box
}
