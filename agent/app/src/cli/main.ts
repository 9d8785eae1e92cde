/** The process of the command line: its streams, its signals and its exit code. */
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
  // What a person reads here may hold words of models and tools.
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

// A reader that has seen enough (head, less) closes the pipe; that ends the command and is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(EXIT.ok.code)
  throw error
})
process.once('SIGINT', () => interrupt.abort(new Error('interrupted')))

process.exitCode = await main(process.argv.slice(2), io)
