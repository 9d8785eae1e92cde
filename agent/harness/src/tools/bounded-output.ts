/**
 * Collects a process's output in bounded memory: keeps the beginning and the end, counts and drops the
 * middle.
 */

/**
 * Bytes kept of each end. Together more than a result may show; the truncation of results saves the rest to a
 * file.
 */
const END_BYTES = 2 * 1024 * 1024

export type BoundedOutput = {
  push(chunk: Uint8Array): void
  text(): string
  /** Number of dropped bytes. */ dropped(): number
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
      // Without a drop both ends are adjacent, so a character split between them is restored.
      return dropped === 0
        ? Buffer.concat([...head, ...tail]).toString('utf8')
        : Buffer.concat(head).toString('utf8') + note + Buffer.concat(tail).toString('utf8')
    },
    dropped: () => dropped,
  }
}
