/** The command line: finds the command, runs it, turns what it throws into a sentence and an exit code. */
import { nearestKey } from '@cairn-tune/train'
import { type Io, usageOf } from './command.ts'
import { commands } from './commands.ts'
import { EXIT, type ExitCode, UsageError, failureOf } from './exit.ts'

async function run(argv: readonly string[], io: Io): Promise<ExitCode> {
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
      `${JSON.stringify([first, second].filter(word => word !== undefined).join(' '))} is no command; ` +
        `there are ${family.join(', ')}`,
    )
  const near = nearestKey(
    first,
    commands.map(({ name }) => name),
  )
  return new UsageError(
    `there is no command ${JSON.stringify(first)}; ` +
      `${near === undefined ? '`cairn-tune help` lists them' : `did you mean ${JSON.stringify(near)}?`}`,
  )
}

const interrupt = new AbortController()
const io: Io = {
  env: process.env,
  out: text => void process.stdout.write(text),
  note: line => void process.stderr.write(`${line}\n`),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  signal: interrupt.signal,
}

// A reader that has seen enough (head, less) closes the pipe; that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok.code)
  throw error
})
// The first asks; a second one ends the process where it stands, as it does everywhere.
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => interrupt.abort(new Error(`interrupted by ${name}`)))

const argv = process.argv.slice(2)
try {
  process.exitCode = await run(argv, io)
} catch (error) {
  const failure = interrupt.signal.aborted
    ? { code: EXIT.interrupted.code, message: 'interrupted' }
    : failureOf(error)
  process.exitCode = failure.code
  io.note(
    argv.includes('--json')
      ? JSON.stringify({ error: { message: failure.message, exit_code: failure.code } })
      : `cairn-tune: ${failure.message}`,
  )
}
