/**
 * The command line of both products: the definition of a command, its options in node:util's format, its
 * usage, and what a person may have meant.
 */
import { type ParseArgsOptionsConfig, parseArgs } from 'node:util'
import { nearest } from './nearest.ts'

/** Invalid command line. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** Data of a command goes to `out`. */
export type Output = { out: (text: string) => void }

const SHARED = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', short: 'h', default: false },
} as const satisfies ParseArgsOptionsConfig

type Args<O extends ParseArgsOptionsConfig> = ReturnType<
  typeof parseArgs<{ args: string[]; options: O & typeof SHARED; allowPositionals: true }>
>

/** `Io` is what a command may use of its process, `Code` its exit codes. */
export type Command<Io extends Output, Code extends number> = {
  /** One or two words: `train`, `model new`. */
  name: string
  summary: string
  /**
   * Each form of the call, without the name of the program, and what it does. Forms that begin with a space
   * are options of the previous form.
   */
  usage: readonly (readonly [form: string, does: string])[]
  /** Printed under the usage. */
  more?: () => string
  /** Its options, without dashes. */
  flags: readonly string[]
  run: (argv: readonly string[], io: Io) => Promise<Code>
}

export type CommandLine<Io extends Output, Code extends number> = ReturnType<typeof commandLine<Io, Code>>

/** The functions that define and find the commands of a program. */
export function commandLine<Io extends Output, Code extends number>(program: string) {
  const usageOf = ({ usage, more }: Pick<Command<Io, Code>, 'usage' | 'more'>): string =>
    table(
      usage.map(
        ([form, does]) => [form.startsWith(' ') ? `  ${form.trim()}` : `${program} ${form}`, does] as const,
      ),
    ) + (more === undefined ? '' : `\n${more()}`)

  return {
    program,
    usageOf,

    defineCommand<const O extends ParseArgsOptionsConfig>(
      command: Omit<Command<Io, Code>, 'run' | 'flags'> & {
        options: O
        run: (args: Args<O>, io: Io) => Promise<Code>
      },
    ): Command<Io, Code> {
      const { options, run, ...about } = command
      return {
        ...about,
        flags: Object.keys({ ...options, ...SHARED }),
        run(argv, io) {
          const args = parse(argv, options)
          if (!('help' in args.values && args.values.help)) return run(args, io)
          io.out(usageOf(about))
          return Promise.resolve(0 as Code)
        },
      }
    },

    /** The name of the command that `argv` begins with, and the arguments behind it. */
    nameIn(argv: readonly string[], names: readonly string[]): { name: string; rest: readonly string[] } {
      const [given = 'help', second] = argv
      const first = given === '--help' || given === '-h' ? 'help' : given
      const pair = `${first} ${second}`
      if (names.includes(pair)) return { name: pair, rest: argv.slice(2) }
      if (names.includes(first)) return { name: first, rest: argv.slice(1) }
      const family = names.filter(name => name.startsWith(`${first} `))
      const meant = nearest(first, names)
      if (family.length > 0)
        throw new UsageError(
          `Unknown command "${second === undefined ? first : pair}"; known: ${family.join(', ')}`,
        )
      throw new UsageError(
        `Unknown command "${first}"; ` +
          (meant === undefined ? `${program} help lists all commands` : `did you mean "${meant}"?`),
      )
    },
  }
}

function parse<O extends ParseArgsOptionsConfig>(argv: readonly string[], options: O): Args<O> {
  try {
    const given = { ...options, ...SHARED }
    return parseArgs({ args: [...argv], options: given, allowPositionals: true }) as Args<O>
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
  const meant = nearest(option, known)
  const advice = meant === undefined ? '--help lists the options' : `did you mean --${meant}?`
  return `Unknown option --${option}; ${advice}`
}

/** Two columns; the first is as wide as its longest entry. */
export function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${`  ${left.padEnd(width)}  ${right}`.trimEnd()}\n`).join('')
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
