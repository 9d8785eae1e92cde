/** Line-based messages to and from a sandboxed process, as in the stdio transport of the protocol. */
import {
  type JSONRPCMessage,
  ReadBuffer,
  serializeMessage,
  type Transport,
} from '@modelcontextprotocol/client'
import { asError } from '@cairn/protocol'
import type { SandboxProcess } from '@cairn/sandbox'

/** Time for a server to exit after its stdin was closed. */
const FAREWELL_MS = 1000

export class SandboxedTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly #process: SandboxProcess
  readonly #end: () => Promise<void>
  readonly #buffer: ReadBuffer
  #closing: Promise<void> | null = null

  /** `end` ends everything in the sandbox; `maxLineBytes` limits one message. */
  constructor(process: SandboxProcess, end: () => Promise<void>, maxLineBytes: number) {
    this.#process = process
    this.#buffer = new ReadBuffer({ maxBufferSize: maxLineBytes })
    this.#end = end
  }

  start(): Promise<void> {
    const { stdin, stdout, exited } = this.#process
    const complain = (thrown: unknown): void => this.onerror?.(asError(thrown))
    stdin?.on('error', complain)
    stdout.on('data', (chunk: Buffer) => {
      if (this.#closing !== null) return
      try {
        this.#buffer.append(chunk)
      } catch (error) {
        // A line above the maximum: its end cannot be found, so nothing after it can be read.
        complain(error)
        this.close().catch(complain)
        return
      }
      this.#read()
    })
    exited
      .then(({ overran }) => (overran === null ? undefined : complain(new Error(overran))), complain)
      .then(() => this.close())
      .catch(complain)
    return Promise.resolve()
  }

  #read(): void {
    for (;;) {
      try {
        const message = this.#buffer.readMessage()
        if (message === null) return
        this.onmessage?.(message)
      } catch (error) {
        // The line is not a message; the next one may be.
        this.onerror?.(asError(error))
      }
    }
  }

  send(message: JSONRPCMessage): Promise<void> {
    const { stdin } = this.#process
    if (stdin === null || this.#closing !== null) return Promise.reject(new Error('Not connected'))
    return new Promise((resolve, reject) => {
      stdin.write(serializeMessage(message), thrown => (thrown ? reject(thrown) : resolve()))
    })
  }

  close(): Promise<void> {
    return (this.#closing ??= this.#close())
  }

  async #close(): Promise<void> {
    const { stdin, exited } = this.#process
    stdin?.end()
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, FAREWELL_MS)
    // The waiter for the exit reports how it ended.
    await Promise.race([Promise.allSettled([exited]), late])
    clearTimeout(timer)
    await this.#end()
    this.#buffer.clear()
    this.onclose?.()
  }
}
