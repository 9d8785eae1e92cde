/**
 * The definition of a command: a name of one or two words, its usage, and a function from arguments to an
 * exit code. One file each, in commands/.
 */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { nearestKey } from '@cairn-tune/train'
import { type ExitCode, UsageError } from './exit.ts'

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

export type Command = {
  /** `train`, `model new`. */
  name: string
  summary: string
  /**
   * Each form of the call, without the leading "cairn-tune", and its description. Forms that begin with a
   * space are options of the ones above.
   */
  usage: readonly (readonly [form: string, does: string])[]
  /** Printed under the usage by --help. */
  more?: () => string
  run: (argv: readonly string[], io: CommandIo) => Promise<ExitCode>
}

const SHARED = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const satisfies ParseArgsOptionsConfig

type Args<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O & typeof SHARED; allowPositionals: true }>
>

/** A command whose options node:util parses. */
export function defineCommand<const O extends ParseArgsOptionsConfig>(
  command: Omit<Command, 'run'> & { options: O; run: (args: Args<O>, io: CommandIo) => Promise<ExitCode> },
): Command {
  const { options, run, ...about } = command
  return { ...about, run: (argv, io) => run(parse(argv, options), io) }
}

function parse<O extends ParseArgsOptionsConfig>(argv: readonly string[], options: O): Args<O> {
  try {
    return parseArgs({
      args: [...argv],
      options: { ...options, ...SHARED },
      allowPositionals: true,
    }) as Args<O>
  } catch (error) {
    if (error instanceof TypeError && 'code' in error && String(error.code).startsWith('ERR_PARSE_ARGS'))
      throw new UsageError(parseErrorText(error, Object.keys({ ...options, ...SHARED })), { cause: error })
    throw error
  }
}

/** Node's message for an unknown option is about positionals; ours names the nearest option. */
function parseErrorText({ message }: Error, known: readonly string[]): string {
  const [, option] = /^Unknown option '(?:--|-)([^'=]+)/.exec(message) ?? []
  if (option === undefined) return message
  const near = nearestKey(option, known)
  const advice = near === undefined ? '--help lists the options' : `did you mean --${near}?`
  return `unknown option --${option}; ${advice}`
}

/** The usage of a command, one form per line. */
export function usageOf({ usage, more }: Pick<Command, 'usage' | 'more'>): string {
  const rows = usage.map(
    ([form, does]) => [form.startsWith(' ') ? `  ${form.trim()}` : `cairn-tune ${form}`, does] as const,
  )
  return table(rows) + (more ? `\n${more()}` : '')
}

/** Two columns; the first is as wide as its longest entry. */
export function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `  ${left.padEnd(width)}  ${right}`.trimEnd() + '\n').join('')
}

/** The positional arguments of a command. Throws with the name of a missing one. */
export function takePositionals<const N extends readonly string[]>(
  given: readonly string[],
  names: N,
): { [K in keyof N]: string } {
  const missing = names[given.length]
  if (missing !== undefined) throw new UsageError(`expected ${missing}`)
  if (given.length > names.length)
    throw new UsageError(`unexpected argument ${JSON.stringify(given[names.length])}`)
  return given as unknown as { [K in keyof N]: string }
}

/** Parses an option's whole number. */
export function wholeNumber(name: string, text: string | undefined, min = 0): number | undefined {
  if (text === undefined) return undefined
  const value = Number(text)
  if (!/^\d+$/.test(text) || value < min)
    throw new UsageError(`--${name} must be a whole number of at least ${min}, got ${JSON.stringify(text)}`)
  return value
}
