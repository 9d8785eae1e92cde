/** The commands of `cairn`, by the command line that both products share. */
import { type Command as CommandOf, commandLine } from '@cairn/tooling/cli'
import type { ExitCode } from '../exit.ts'
import type { Terminal } from './read-terminal.ts'

export { takePositionals } from '@cairn/tooling/cli'

/** The environment of a command. Data goes to `out`, everything for a person to `note`. */
export type Io = {
  env: Readonly<Record<string, string | undefined>>
  out: (text: string) => void
  /**
   * Resolves when the reader has consumed the data (backpressure), so that a log of any length does not fill
   * memory.
   */
  flushed: () => Promise<void>
  note: (line: string) => void
  /** All of stdin. */
  readStdin: () => Promise<string>
  stdinIsTty: boolean
  stdoutIsTty: boolean
  /** Reads lines from the person at the terminal, one at a time. */
  terminal: () => Terminal
  /** Aborts on Ctrl-C. */
  signal: AbortSignal
}

export type Command = CommandOf<Io, ExitCode>

export const CAIRN = commandLine<Io, ExitCode>('cairn')
export const { defineCommand } = CAIRN
