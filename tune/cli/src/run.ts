/**
 * The command line without its process: finds the command, runs it, and maps an error to a message and an
 * exit code. Tests call it with their own streams.
 */
import { VERSION } from '@cairn/tooling/version'
import { CAIRN_TUNE, type Command, type CommandIo, usageOf } from './command.ts'
import { commands } from './commands.ts'
import { EXIT, type ExitCode, failureOf } from './exit.ts'

async function run(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  if (argv[0] === '--version' || argv[0] === '-v') {
    io.out(`${VERSION}\n`)
    return EXIT.ok.code
  }
  const { name, rest } = CAIRN_TUNE.nameIn(
    argv,
    commands.map(command => command.name),
  )
  const command = commands.find(each => each.name === name) as Command
  if (rest.includes('--help') || rest.includes('-h')) {
    io.out(`${command.summary}.\n\n${usageOf(command)}`)
    return EXIT.ok.code
  }
  return await command.run(rest, io)
}

/** Runs one command; `argv` is what follows `cairn-tune`. */
export async function main(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  try {
    return await run(argv, io)
  } catch (error) {
    const { code, message } = io.signal.aborted
      ? { code: EXIT.interrupted.code, message: 'interrupted' }
      : failureOf(error)
    io.note(
      argv.includes('--json')
        ? JSON.stringify({ error: { message, exit_code: code } })
        : `cairn-tune: ${message}`,
    )
    return code
  }
}
