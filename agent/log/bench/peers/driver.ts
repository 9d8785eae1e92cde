/**
 * What the load generator asks of every service alike: connections that append, and connections that are told
 * what was appended.
 */
import { connect, type Socket } from 'node:net'

export type Writer = {
  /** Settles when the service acknowledges; several may be under way. */
  write(text: string): Promise<void>
  close(): void
}
export type Driver = {
  /** A connection of its own, to the stream of that number (0 to 63). */
  openWriter(stream: number): Promise<Writer>
  /**
   * A connection of its own that is told what stream 0 gets from now on: raw bytes, in which the texts stand
   * as they were written.
   */
  openReader(onData: (data: Buffer) => void): Promise<{ close(): void }>
  close?(): Promise<void>
}

export const open = (port: number): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    socket.setNoDelay(true)
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(socket)
    })
  })

/**
 * Requests on one socket, answered in order. `answers` says how many answers a piece completes and throws on
 * a refusal.
 */
export async function openInOrder(
  port: number,
  encode: (text: string) => string,
  answers: (data: Buffer) => number,
): Promise<Writer & { socket: Socket }> {
  const socket = await open(port)
  const waiting: { resolve: () => void; reject: (error: Error) => void }[] = []
  const fail = (error: Error): void => {
    for (const { reject } of waiting.splice(0)) reject(error)
  }
  socket.on('data', data => {
    try {
      for (let left = answers(data); left > 0; left--) waiting.shift()?.resolve()
    } catch (error) {
      fail(error as Error)
    }
  })
  socket.on('error', fail)
  socket.on('close', () => fail(new Error('[bench] the service closed the connection')))
  return {
    socket,
    write: text =>
      new Promise((resolve, reject) => {
        waiting.push({ resolve, reject })
        socket.write(encode(text))
      }),
    close: () => socket.destroy(),
  }
}

/** How often `mark` stands in `data`. */
export function countOf(data: Buffer, mark: string): number {
  let count = 0
  for (let at = data.indexOf(mark); at >= 0; at = data.indexOf(mark, at + mark.length)) count++
  return count
}
