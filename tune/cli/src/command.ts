/** The commands of `cairn-tune`, by the command line that both products share; one file each in commands/. */
import { type Command as CommandOf, commandLine, UsageError } from '@cairn/tooling/cli'
import type { ExitCode } from './exit.ts'

export { table, takePositionals } from '@cairn/tooling/cli'

/** The environment and output of a command. Data goes to `out`, messages to `note`. */
export type CommandIo = {
  env: NodeJS.ProcessEnv
  out: (text: string) => void
  note: (line: string) => void
  /** The terminal for redrawn lines. Undefined if stderr is not a terminal. */
  terminal: NodeJS.WriteStream | undefined
  /** Ctrl-C. */
  signal: AbortSignal
}

export type Command = CommandOf<CommandIo, ExitCode>

export const CAIRN_TUNE = commandLine<CommandIo, ExitCode>('cairn-tune')
export const { defineCommand, usageOf } = CAIRN_TUNE

/** Parses an option's whole number. */
export function wholeNumber(name: string, text: string | undefined, min = 0): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min)
    throw new UsageError(`--${name} must be a whole number of at least ${min}, got ${JSON.stringify(text)}`)
  return value
}
