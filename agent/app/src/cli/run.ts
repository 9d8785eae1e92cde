/**
 * The command line without its process: finds and runs the command and converts an error to a message and an
 * exit code. Tests call it with their own streams.
 */
import { ApiError, ConnectionError } from '@cairn/client'
import { VERSION } from '@cairn/tooling/version'
import { ConfigError } from '../config/config-error.ts'
import { EXIT, type ExitCode, InUseError, NotFoundError, UsageError } from '../exit.ts'
import { CAIRN, type Io } from './command.ts'
import { COMMAND_NAMES, loadCommand } from './commands.ts'

async function run(argv: string[], io: Io): Promise<ExitCode> {
  if (argv[0] === '--version' || argv[0] === '-v') {
    io.out(`${VERSION}\n`)
    return EXIT.ok.code
  }
  const { name, rest } = CAIRN.nameIn(argv, COMMAND_NAMES)
  return (await loadCommand(name)).run(rest, io)
}

type Kinds = readonly (readonly [kind: new (...args: never[]) => Error, code: ExitCode])[]

const KINDS: Kinds = [
  [UsageError, EXIT.usage.code],
  [ConfigError, EXIT.config.code],
  [ConnectionError, EXIT.notFound.code],
  [NotFoundError, EXIT.notFound.code],
  [InUseError, EXIT.inUse.code],
]

/** Error types of packages that most commands never load; loaded only if no other type matches. */
async function storeKinds(): Promise<Kinds> {
  const [{ DamagedKeyFile }, { DamagedStore, DirectoryInUse, NoStore, UnsupportedSchema }] =
    await Promise.all([import('@cairn/api'), import('@cairn/log')])
  return [
    [DirectoryInUse, EXIT.inUse.code],
    [DamagedKeyFile, EXIT.failure.code],
    [DamagedStore, EXIT.failure.code],
    [NoStore, EXIT.notFound.code],
    [UnsupportedSchema, EXIT.failure.code],
  ]
}

/**
 * The exit code and message of an error. For a mistake of the caller the message suffices; any other error
 * may be a bug, so its stack is printed.
 */
async function failureOf(error: unknown): Promise<{ code: ExitCode; message: string }> {
  if (error instanceof ApiError)
    return {
      code: error.status === 404 ? EXIT.notFound.code : EXIT.failure.code,
      message: [
        error.message,
        ...(error.problem.errors ?? []).map(({ path, message }) => `  ${path}: ${message}`),
      ].join('\n'),
    }
  if (!(error instanceof Error)) return { code: EXIT.failure.code, message: String(error) }
  const isKind = ([kind]: Kinds[number]) => error instanceof kind
  const known = KINDS.find(isKind) ?? (await storeKinds()).find(isKind)
  return known === undefined
    ? { code: EXIT.failure.code, message: error.stack ?? error.message }
    : { code: known[1], message: error.message }
}

/** Runs one command and returns its exit code; `argv` is what follows `cairn`. */
export async function main(argv: string[], io: Io): Promise<ExitCode> {
  try {
    return await run(argv, io)
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted.code
    const { code, message } = await failureOf(error)
    const problem = {
      message,
      ...(error instanceof ApiError ? { code: error.code, status: error.status } : {}),
      exit_code: code,
    }
    io.note(argv.includes('--json') ? JSON.stringify({ error: problem }) : `cairn: ${message}`)
    return code
  }
}
