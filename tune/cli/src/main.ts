/** The process of the command line: its streams, its signals and its exit code. */
import type { CommandIo } from './command.ts'
import { EXIT } from './exit.ts'
import { main } from './run.ts'

const interrupt = new AbortController()
const io: CommandIo = {
  env: process.env,
  out: text => void process.stdout.write(text),
  note: line => void process.stderr.write(`${line}\n`),
  terminal: process.stderr.isTTY ? process.stderr : undefined,
  signal: interrupt.signal,
}

// A reader such as head or less may close the pipe early. That is not a failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok.code)
  throw error
})
// The first signal asks the command to stop; a second one kills the process.
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => interrupt.abort(new Error(`interrupted by ${name}`)))

process.exitCode = await main(process.argv.slice(2), io)
