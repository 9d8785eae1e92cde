/**
 * Output of a process in bounded memory: its beginning and its end are kept, the middle is counted and
 * dropped.
 */

/**
 * Bytes kept of each end. Together more than a result may show; the cut of results saves what lies between.
 */
const END_BYTES = 2 * 1024 * 1024

export type BoundedOutput = {
  push(chunk: Uint8Array): void
  text(): string
  /** Bytes that are kept nowhere. */ dropped(): number
}

export function boundedOutput(endBytes = END_BYTES): BoundedOutput {
  const head: Uint8Array[] = []
  let tail: Uint8Array[] = []
  let headBytes = 0
  let tailBytes = 0
  let dropped = 0
  return {
    push(chunk) {
      const toHead = chunk.subarray(0, endBytes - headBytes)
      if (toHead.length > 0) {
        head.push(toHead)
        headBytes += toHead.length
      }
      const rest = chunk.subarray(toHead.length)
      if (rest.length === 0) return
      tail.push(rest)
      tailBytes += rest.length
      // Trimmed at twice the limit, so that a stream of small chunks costs one copy per END_BYTES.
      if (tailBytes > 2 * endBytes) {
        const kept = Buffer.concat(tail).subarray(-endBytes)
        dropped += tailBytes - kept.length
        tail = [kept]
        tailBytes = kept.length
      }
    },
    text() {
      const note = dropped === 0 ? '' : `\n[… ${dropped} bytes of output were dropped …]\n`
      // Without a drop both ends join, and a character cut between them is whole again.
      return dropped === 0
        ? Buffer.concat([...head, ...tail]).toString('utf8')
        : Buffer.concat(head).toString('utf8') + note + Buffer.concat(tail).toString('utf8')
    },
    dropped: () => dropped,
  }
}
