/**
 * The command line without its process: finds the command, runs it, and maps an error to a message and an
 * exit code. Tests call it with their own streams.
 */
import { nearestKey } from '@cairn-tune/train'
import { type CommandIo, usageOf } from './command.ts'
import { commands } from './commands.ts'
import { EXIT, type ExitCode, UsageError, failureOf } from './exit.ts'

async function run(argv: readonly string[], io: CommandIo): Promise<ExitCode> {
  const [first = 'help', second] = argv
  const asked = ['--help', '-h'].includes(first) ? 'help' : first
  const pair = commands.find(({ name }) => name === `${asked} ${second}`)
  const command = pair ?? commands.find(({ name }) => name === asked)
  if (!command) throw unknownCommand(asked, second)
  const rest = argv.slice(pair ? 2 : 1)
  if (rest.includes('--help') || rest.includes('-h')) {
    io.out(`${command.summary}.\n\n${usageOf(command)}`)
    return EXIT.ok.code
  }
  return await command.run(rest, io)
}

function unknownCommand(first: string, second: string | undefined): UsageError {
  const family = commands.filter(({ name }) => name.startsWith(`${first} `)).map(({ name }) => name)
  if (family.length > 0)
    return new UsageError(
      `unknown command ${JSON.stringify([first, second].filter(word => word !== undefined).join(' '))}; ` +
        `known: ${family.join(', ')}`,
    )
  const near = nearestKey(
    first,
    commands.map(({ name }) => name),
  )
  return new UsageError(
    `unknown command ${JSON.stringify(first)}; ` +
      (near === undefined ? '`cairn-tune help` lists all commands' : `did you mean ${JSON.stringify(near)}?`),
  )
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
