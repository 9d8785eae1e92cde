/** The bytes of a response, piece by piece, each as it comes. */
import type { Readable } from 'node:stream'
import { PlainResponse, terminated } from './plain-fetch.ts'

/** True: nothing more is wanted. What it throws ends the connection and is thrown. */
type OnChunk = (piece: Uint8Array) => boolean

/** How long the end of the body may come behind the last piece that was wanted, which says nothing of it. */
const END_MS = 1000

/** Says whether it stopped before the end. Rejects as fetch does when the connection breaks. */
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
    // What is left of a body nobody reads is not fetched; of one at its end, or broken, nothing is left.
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

/** A connection whose answer was read to its end serves the next call. */
function closeUnlessEnded(pieces: Readable): void {
  const timer = setTimeout(() => pieces.destroy(), END_MS).unref()
  pieces.once('close', () => clearTimeout(timer))
}
