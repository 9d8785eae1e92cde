/**
 * The command line without its process: finds the command, runs it, and turns an error into a message and an
 * exit code. Tests call it with streams of their own.
 */
import { DamagedKeyFile } from '@cairn/api'
import { ApiError, ConnectionError } from '@cairn/client'
import { DamagedStore, DirectoryInUse } from '@cairn/log'
import { ConfigError } from '../config/config-error.ts'
import { nearest } from '../config/nearest.ts'
import { acp } from './acp.ts'
import { readVersion } from '../version.ts'
import { answer } from './answer.ts'
import { approve } from './approve.ts'
import { backup } from './backup.ts'
import { bench } from './bench.ts'
import { chat } from './chat.ts'
import type { Command, Io } from './command.ts'
import { code } from './code.ts'
import { completionFor } from './completion.ts'
import { conformance } from './conformance.ts'
import { doctor } from './doctor.ts'
import { EXIT, type ExitCode, InUseError, NotFoundError, UsageError } from '../exit.ts'
import { exportLogs } from './export.ts'
import { goal } from './goal.ts'
import { helpFor } from './help.ts'
import { inbox } from './inbox.ts'
import { init } from './init.ts'
import { login } from './login.ts'
import { rate } from './rate.ts'
import { send } from './send.ts'
import { serve } from './serve.ts'
import { sessions } from './sessions.ts'
import { sessionVerbs } from './session-verbs.ts'
import { show } from './show.ts'
import { tail } from './tail.ts'
import { token } from './token.ts'
import { schedules } from './schedules.ts'
import { workers } from './workers.ts'

const commands: Command[] = [
  serve,
  init,
  login,
  chat,
  send,
  sessions,
  show,
  answer,
  inbox,
  ...sessionVerbs,
  goal,
  workers,
  schedules,
  tail,
  approve,
  rate,
  token,
  acp,
  code,
  exportLogs,
  doctor,
  conformance,
  backup,
  bench,
  completionFor(() => commands),
  helpFor(() => commands),
]

async function run(argv: string[], io: Io): Promise<ExitCode> {
  const [name = 'help', ...rest] = argv
  if (name === '--version' || name === '-v') {
    io.out(`${readVersion()}\n`)
    return EXIT.ok.code
  }
  const wanted = name === '--help' || name === '-h' ? 'help' : name
  const command = commands.find(known => known.name === wanted)
  if (command !== undefined) return command.run(rest, io)
  const meant = nearest(
    wanted,
    commands.map(known => known.name),
  )
  throw new UsageError(
    `there is no command "${name}"; ` +
      `${meant === undefined ? 'cairn help lists them' : `did you mean "${meant}"?`}`,
  )
}

const CODES: readonly [kind: new (...args: never[]) => Error, code: ExitCode][] = [
  [UsageError, EXIT.usage.code],
  [ConfigError, EXIT.config.code],
  [ConnectionError, EXIT.notFound.code],
  [NotFoundError, EXIT.notFound.code],
  [InUseError, EXIT.inUse.code],
  [DirectoryInUse, EXIT.inUse.code],
  [DamagedKeyFile, EXIT.failure.code],
  [DamagedStore, EXIT.failure.code],
]

function codeOf(error: unknown): ExitCode {
  if (error instanceof ApiError) return error.status === 404 ? EXIT.notFound.code : EXIT.failure.code
  return CODES.find(([kind]) => error instanceof kind)?.[1] ?? EXIT.failure.code
}

/**
 * Those that name a mistake of the caller speak for themselves; the rest may be bugs and show where they come
 * from.
 */
function describe(error: unknown): string {
  if (error instanceof ApiError)
    return [
      error.message,
      ...(error.problem.errors ?? []).map(({ path, message }) => `  ${path}: ${message}`),
    ].join('\n')
  if (!(error instanceof Error)) return String(error)
  const speaks = CODES.some(([kind]) => error instanceof kind)
  return speaks ? error.message : (error.stack ?? error.message)
}

/** Runs one command to its end and returns its exit code; `argv` is what follows `cairn`. */
export async function main(argv: string[], io: Io): Promise<ExitCode> {
  try {
    return await run(argv, io)
  } catch (error) {
    if (io.signal.aborted) return EXIT.interrupted.code
    const code = codeOf(error)
    const message = describe(error)
    const problem = {
      message,
      ...(error instanceof ApiError ? { code: error.code, status: error.status } : {}),
      exit_code: code,
    }
    io.note(argv.includes('--json') ? JSON.stringify({ error: problem }) : `cairn: ${message}`)
    return code
  }
}
