/** The type of a command: options in node:util's format, and a function from them to an exit code. */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { type ExitCode, UsageError } from '../exit.ts'
import type { Terminal } from './read-terminal.ts'

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

const SHARED = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const satisfies ParseArgsOptionsConfig

type Args<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O & typeof SHARED; allowPositionals: true }>
>

export type Command = {
  name: string
  summary: string
  /** Each form, without the leading "cairn", and what it does. */
  usage: readonly (readonly [form: string, does: string])[]
  /** Its options, without dashes. */
  flags: readonly string[]
  run: (argv: string[], io: Io) => Promise<ExitCode>
}

export function defineCommand<const O extends ParseArgsOptionsConfig>(
  command: Omit<Command, 'run' | 'flags'> & { options: O; run: (args: Args<O>, io: Io) => Promise<ExitCode> },
): Command {
  const { options, run, ...about } = command
  return {
    ...about,
    flags: Object.keys({ ...options, ...SHARED }),
    run: (argv, io) => {
      const args = parse(argv, options)
      if ('help' in args.values && args.values.help) {
        io.out(usageOf(about))
        return Promise.resolve(0)
      }
      return run(args, io)
    },
  }
}

function parse<O extends ParseArgsOptionsConfig>(args: string[], options: O): Args<O> {
  try {
    return parseArgs({ args, options: { ...options, ...SHARED }, allowPositionals: true }) as Args<O>
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
      throw new UsageError(error.message, { cause: error })
    throw error
  }
}

/** Forms that begin with a space are options of the previous form. */
export function usageOf({ usage }: Pick<Command, 'usage'>): string {
  const rows = usage.map(
    ([form, does]) => [form.startsWith(' ') ? `  ${form.trim()}` : `cairn ${form}`, does] as const,
  )
  const width = Math.max(...rows.map(([form]) => form.length))
  return rows.map(([form, does]) => `  ${form.padEnd(width)}  ${does}\n`).join('')
}

/** Returns exactly the positionals that a command takes; the error names a missing one. */
export function takePositionals<const N extends readonly string[]>(
  given: readonly string[],
  names: N,
): { [K in keyof N]: string } {
  const missing = names[given.length]
  if (missing !== undefined) throw new UsageError(`Missing ${missing}`)
  if (given.length > names.length) throw new UsageError(`Unexpected argument "${given[names.length]}"`)
  return given as unknown as { [K in keyof N]: string }
}
