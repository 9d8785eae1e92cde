/** The command line process: streams, signals and exit code. */
import { once } from 'node:events'
import { makeProcessPrivate } from '@cairn/workspace'
import { EXIT } from '../exit.ts'
import type { Io } from './command.ts'
import { openTerminal } from './read-terminal.ts'
import { main } from './run.ts'
import { printable } from './terminal-text.ts'

makeProcessPrivate()
const interrupt = new AbortController()
const io: Io = {
  env: process.env,
  out: text => void process.stdout.write(text),
  flushed: async () => {
    if (process.stdout.writableNeedDrain) await once(process.stdout, 'drain')
  },
  // The text may contain output of models and tools, so control characters are made visible.
  note: line => void process.stderr.write(`${printable(line)}\n`),
  readStdin: async () => {
    const chunks: Buffer[] = []
    for await (const chunk of process.stdin) chunks.push(chunk as Buffer)
    return Buffer.concat(chunks).toString()
  },
  stdinIsTty: process.stdin.isTTY,
  stdoutIsTty: process.stdout.isTTY,
  terminal: () => openTerminal(process.stdin, process.stdout, interrupt.signal),
  signal: interrupt.signal,
}

// A reader that closes the pipe early (head, less) ends the command without an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok.code)
  throw error
})
process.once('SIGINT', () => interrupt.abort(new Error('interrupted')))

process.exitCode = await main(process.argv.slice(2), io)
