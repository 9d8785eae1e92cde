/** Reads the bytes of a response as they arrive. */
import type { Readable } from 'node:stream'
import { PlainResponse, terminated } from './plain-fetch.ts'

/** Returns true when nothing more is needed. An exception ends the connection and is rethrown. */
type OnChunk = (piece: Uint8Array) => boolean

/** Maximum wait for the end of the body after the last needed piece. */
const END_MS = 1000

/** Returns whether it stopped before the end. Rejects like fetch when the connection breaks. */
export async function readChunks(response: Response, onChunk: OnChunk): Promise<boolean> {
  if (response instanceof PlainResponse) return readAll(response, onChunk)
  if (response.body === null) return false
  const reader = response.body.getReader()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return false
      if (onChunk(value)) return true
    }
  } finally {
    // Cancel an unread rest; a body that has ended or failed has none.
    reader.cancel().catch(() => undefined)
  }
}

function readAll({ pieces }: PlainResponse, onChunk: OnChunk): Promise<boolean> {
  return new Promise((resolve, reject) => {
    if (pieces.errored !== null) return reject(terminated(pieces.errored))
    let isOver = false
    function end(thrown: unknown): void {
      isOver = true
      pieces.destroy()
      reject(thrown)
    }
    function take(piece: Uint8Array): void {
      if (isOver) return
      try {
        isOver = onChunk(piece)
      } catch (error) {
        return end(error)
      }
      if (!isOver) return
      closeUnlessEnded(pieces)
      resolve(true)
    }
    pieces
      .on('data', take)
      .on('end', () => resolve(false))
      .on('error', cause => reject(terminated(cause)))
  })
}

/** A connection whose answer was read to the end can be reused. */
function closeUnlessEnded(pieces: Readable): void {
  const timer = setTimeout(() => pieces.destroy(), END_MS).unref()
  pieces.once('close', () => clearTimeout(timer))
}
