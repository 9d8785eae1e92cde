/** Limits the frames of an agent: one that writes faster than it can be read is ended. */
import { type Readable, Transform } from 'node:stream'
import type { Clock } from '@cairn/models/clock'

const MAX_BYTES_PER_S = 8 * 2 ** 20
const MAX_LINE_BYTES = 16 * 2 ** 20

/** Forwards the data; above the limit, calls `onFlood` once and forwards nothing more. */
export function limitFlood(from: Readable, clock: Clock, onFlood: (reason: string) => void): Readable {
  let since = clock.monotonic()
  let bytes = 0
  let line = 0
  let isOver = false
  const limited = new Transform({
    transform(chunk: Buffer, _, done) {
      const now = clock.monotonic()
      if (now - since >= 1000) {
        since = now
        bytes = 0
      }
      bytes += chunk.length
      const end = chunk.lastIndexOf(10)
      line = end === -1 ? line + chunk.length : chunk.length - end - 1
      const reason =
        bytes > MAX_BYTES_PER_S
          ? 'the agent wrote more than 8 MB within a second and was stopped'
          : line > MAX_LINE_BYTES
            ? 'the agent wrote a frame of more than 16 MB and was stopped'
            : null
      if (reason !== null && !isOver) {
        isOver = true
        onFlood(reason)
      }
      done(null, isOver ? undefined : chunk)
    },
  })
  from.on('error', thrown => limited.destroy(thrown))
  return from.pipe(limited)
}
